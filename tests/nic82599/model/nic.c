/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC as a whole: power-on, software reset, link and interrupts.
 */
#include "nic.h"

#include <stdlib.h>
#include <string.h>

#include "director.h"

struct nic *nics[NICS_MAX];
unsigned nic_count;

static void *
dma_identity(uint64_t iova)
{
	return (void *)(uintptr_t)iova;
}

void *(*nic_dma)(uint64_t iova) = dma_identity;

struct nic *
nic_create(unsigned index, uint16_t device_id)
{
	static const uint8_t mac[6] = {0x00, 0x1b, 0x21, 0x82, 0x59, 0x90};
	struct nic *nic = calloc(1, sizeof(*nic));

	if (nic == NULL)
		return NULL;
	nic->rss = malloc(sizeof(*nic->rss));
	nic->image = malloc(FRAME_MAX);
	if (nic->rss == NULL || nic->image == NULL) {
		nic_destroy(nic);
		return NULL;
	}
	pthread_spin_init(&nic->lock, PTHREAD_PROCESS_PRIVATE);
	nic->index = index;
	nic->device_id = device_id;
	snprintf(nic->pci, sizeof(nic->pci), "0000:82:00.%u", index);
	memcpy(nic->mac, mac, sizeof(mac));
	nic->mac[5] += (uint8_t)index;
	nic->interrupt = -1;
	nic->socket = -1;
	nic->cable = nic->cage = true;
	nic->playlist.rounds = 1;
	nic->playlist.playing = true;
	module_power_on(nic);
	reg_set(nic, R_I2CCTL, I2C_CLK_IN | I2C_CLK_OUT | I2C_DATA_IN | I2C_DATA_OUT);
	nic_reset(nic);
	return nic;
}

void
nic_destroy(struct nic *nic)
{
	unsigned q;

	if (nic == NULL)
		return;
	director_flush(nic);
	for (q = 0; q < TX_QUEUES; q++)
		free(nic->tx[q].packet);
	free(nic->playlist.frames);
	free(nic->playlist.file);
	free(nic->socket_frame);
	free(nic->image);
	free(nic->rss);
	free(nic);
}

/** Registers that outlive a software reset: the lines to the module, and the semaphores, which
 * belong to both ports and the firmware (datasheet 10.5.4). */
static const uint32_t kept_over_reset[] = {R_SWSM, R_SW_FW_SYNC, R_I2CCTL};
#define KEPT (sizeof(kept_over_reset) / sizeof(kept_over_reset[0]))

void
nic_reset(struct nic *nic)
{
	uint32_t kept[KEPT];
	unsigned i;

	for (i = 0; i < KEPT; i++)
		kept[i] = reg_get(nic, kept_over_reset[i]);
	memset(nic->reg, 0, sizeof(nic->reg));
	for (i = 0; i < KEPT; i++)
		reg_set(nic, kept_over_reset[i], kept[i]);

	/* Loaded from the EEPROM: how the link is made, and the station address (5.2.6, 6.3). */
	if (nic->device_id == 0x10fb) {
		reg_set(nic, R_AUTOC, AUTOC_10G_SERIAL);
		reg_set(nic, R_AUTOC2, AUTOC2_10G_SFI);
	} else {
		reg_set(nic, R_AUTOC, AUTOC_BACKPLANE);
	}
	reg_set(nic, R_RAL(0),
		nic->mac[0] | (uint32_t)nic->mac[1] << 8 | (uint32_t)nic->mac[2] << 16 |
			(uint32_t)nic->mac[3] << 24);
	reg_set(nic, R_RAH(0), nic->mac[4] | (uint32_t)nic->mac[5] << 8 | RAH_AV);
	/* Initial values the driver builds on by read, modify, write. */
	reg_set(nic, R_HLREG0, HLREG0_TXCRCEN | HLREG0_RXCRCSTRP | HLREG0_TXPADEN | 1u << 12);
	reg_set(nic, R_MAXFRS, 1518u << 16);
	reg_set(nic, R_RXPBSIZE(0), 512u << 10);
	reg_set(nic, R_VLNCTRL, 0x8100);

	for (i = 0; i < TX_QUEUES; i++)
		nic->tx[i].length = 0;
	nic->five_tuples = nic->rx_queues = nic->tx_queues = 0;
	nic->addresses = 1;
	nic->rss_stale = true;
	director_flush(nic);
}

bool
nic_link_up(const struct nic *nic)
{
	return nic->cable && (nic->cage || nic->device_id != 0x10fb);
}

void
nic_plug(struct nic *nic, bool cable, bool cage)
{
	bool was = nic_link_up(nic);

	nic->cable = cable;
	nic->cage = cage;
	if (nic_link_up(nic) != was)
		nic_interrupt(nic, EICR_LSC);
}

void
nic_interrupt(struct nic *nic, uint32_t causes)
{
	uint32_t fresh = causes & ~reg_get(nic, R_EICR), count = 1;

	reg_set(nic, R_EICR, reg_get(nic, R_EICR) | causes);
	if ((fresh & reg_get(nic, R_EIMS)) == 0 || nic->interrupt < 0)
		return;
	/* A UIO descriptor: 4 bytes a read. Full means that the driver is awake anyway. */
	if (send(nic->interrupt, &count, sizeof(count), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}
