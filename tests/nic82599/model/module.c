/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the driver reads before it believes in the card: the EEPROM, and the
 * identification of the module in the SFP+ cage over a two-wire bus that the
 * driver moves bit by bit through I2CCTL.
 */
#include "nic.h"

#include <string.h>

/* --- EEPROM, datasheet chapter 6 ----------------------------------------------------- */

#define EE_FIRMWARE	0x0f /**< pointer to the firmware block: the driver checks its version */
#define EE_SFP_INIT	0x2b /**< pointer to the list of init sequences by kind of module */
#define EE_CAPABILITIES 0x2c
#define EE_TRACK_LOW	0x2d
#define EE_TRACK_HIGH	0x2e
#define EE_CHECKSUM	0x3f

#define CAPABILITY_ANY_SFP 0x0001
#define SFP_TYPES	   13 /**< kinds of module the driver knows */

static void
build_eeprom(uint16_t *eeprom)
{
	const uint16_t firmware = 0x200, patch = 0x240, list = 0x280, sequence = 0x2c0;
	uint16_t sum = 0;
	unsigned i;

	memset(eeprom, 0xff, EEPROM_WORDS * sizeof(*eeprom));
	/* Word 4 of the firmware block leads to the patch block, whose word 7 is the version;
	 * word 2 without a pointer: no link establishment state machine in firmware. */
	eeprom[EE_FIRMWARE] = firmware;
	eeprom[firmware + 2] = 0xffff;
	eeprom[firmware + 4] = patch;
	eeprom[patch + 7] = 9;
	/* The same, empty, init sequence for every kind of module. */
	eeprom[EE_SFP_INIT] = list;
	for (i = 0; i < SFP_TYPES; i++) {
		eeprom[list + 1 + 2 * i] = (uint16_t)i;
		eeprom[list + 2 + 2 * i] = sequence;
	}
	eeprom[list + 1 + 2 * SFP_TYPES] = 0xffff;
	eeprom[sequence] = 0;
	eeprom[sequence + 1] = 0xffff;
	eeprom[EE_CAPABILITIES] = CAPABILITY_ANY_SFP | 0x0040;
	eeprom[EE_TRACK_LOW] = 0x8000;
	eeprom[EE_TRACK_HIGH] = 0x0599;
	/* Words 0x00 to 0x3f, and what the pointers lead to as far as it is not 0xffff, add up to
	 * 0xbaba; the driver is content with the first part unless asked to validate. */
	for (i = 0; i < EE_CHECKSUM; i++)
		sum += eeprom[i];
	eeprom[EE_CHECKSUM] = (uint16_t)(0xbaba - sum);
}

/* --- the module: a 10GBASE-SR transceiver, SFF-8472 -------------------------------------- */

static uint8_t
byte_sum(const uint8_t *bytes, unsigned first, unsigned last)
{
	uint8_t sum = 0;

	for (; first <= last; first++)
		sum += bytes[first];
	return sum;
}

static void
build_module(uint8_t module[2][256])
{
	uint8_t *id = module[0];

	memset(module, 0, 2 * 256);
	id[0] = 3;    /* SFP or SFP+ */
	id[1] = 4;    /* two-wire interface defines it */
	id[2] = 7;    /* LC connector */
	id[3] = 0x10; /* 10GBASE-SR */
	id[12] = 103; /* 10.3 Gbit/s */
	memcpy(id + 20, "Intel Corp      ", 16);
	id[37] = 0x00; /* vendor's OUI */
	id[38] = 0x1b;
	id[39] = 0x21;
	memcpy(id + 40, "FTLX8571D3BCV-IT", 16);
	memcpy(id + 56, "A   ", 4);
	id[63] = byte_sum(id, 0, 62);
	memcpy(id + 68, "MODEL82599000000", 16);
	id[92] = 0x68; /* diagnostics, internally calibrated */
	id[94] = 3;
	id[95] = byte_sum(id, 64, 94);
}

void
module_power_on(struct nic *nic)
{
	build_eeprom(nic->eeprom);
	build_module(nic->module);
	nic->i2c = (struct i2c){.scl = true, .sda = true, .out = true};
}

/* --- the two-wire bus: data is taken while the clock is high, changed while it is low -------- */

static void
clock_rises(struct i2c *bus)
{
	if (bus->state == I2C_READ) {
		if (bus->bit == 8)
			bus->acknowledged = !bus->sda;
	} else if (bus->bit < 8) {
		bus->shift = (uint8_t)(bus->shift << 1 | bus->sda);
	}
	bus->bit++;
}

/** The module sends: the next bit, the ninth is left to the driver. */
static void
drive_read(struct i2c *bus, const uint8_t *memory)
{
	if (bus->bit < 8) {
		bus->out = memory[bus->pointer] >> (7 - bus->bit) & 1;
		return;
	}
	bus->out = true;
	if (bus->bit == 8)
		return;
	bus->bit = 0;
	bus->pointer++;
	if (bus->acknowledged)
		bus->out = memory[bus->pointer] >> 7;
	else
		bus->state = I2C_IDLE;
}

/** Eight bits came from the driver: acknowledged by pulling the line low. */
static void
acknowledge(struct i2c *bus)
{
	bus->out = false;
	if (bus->state != I2C_ADDRESS)
		return;
	if ((bus->shift & 0xfe) == 0xa0 || (bus->shift & 0xfe) == 0xa2) {
		bus->device = (bus->shift & 0xfe) == 0xa2;
		return;
	}
	bus->out = true;
	bus->state = I2C_IDLE;
}

/** The acknowledgement is over: what the byte was for. */
static void
byte_done(struct i2c *bus, uint8_t *memory)
{
	bus->bit = 0;
	bus->out = true;
	switch (bus->state) {
	case I2C_ADDRESS:
		if ((bus->shift & 1) != 0) {
			bus->state = I2C_READ;
			bus->out = memory[bus->pointer] >> 7;
		} else {
			bus->state = I2C_POINTER;
		}
		break;
	case I2C_POINTER:
		bus->pointer = bus->shift;
		bus->state = I2C_WRITE;
		break;
	case I2C_WRITE:
		memory[bus->pointer++] = bus->shift;
		break;
	case I2C_IDLE:
	case I2C_READ:
		break;
	}
	bus->shift = 0;
}

static void
clock_falls(struct i2c *bus, uint8_t module[2][256])
{
	if (bus->state == I2C_READ)
		drive_read(bus, module[bus->device]);
	else if (bus->bit == 8)
		acknowledge(bus);
	else if (bus->bit == 9)
		byte_done(bus, module[bus->device]);
}

void
module_lines(struct nic *nic, uint32_t i2cctl)
{
	struct i2c *bus = &nic->i2c;
	bool scl_was = bus->scl, sda_was = bus->sda;

	bus->scl = (i2cctl & I2C_CLK_OUT) != 0;
	bus->sda = (i2cctl & I2C_DATA_OUT) != 0;
	if (!nic->cage) {
		bus->state = I2C_IDLE;
		bus->out = true;
		return;
	}
	if (scl_was && bus->scl && sda_was != bus->sda) {
		/* SDA moves while the clock is high: start (falls) or stop (rises). */
		bus->state = bus->sda ? I2C_IDLE : I2C_ADDRESS;
		bus->bit = 0;
		bus->shift = 0;
		bus->out = true;
		return;
	}
	if (bus->state == I2C_IDLE)
		return;
	if (!scl_was && bus->scl)
		clock_rises(bus);
	else if (scl_was && !bus->scl)
		clock_falls(bus, nic->module);
}
