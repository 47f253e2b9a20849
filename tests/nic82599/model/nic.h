/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NIC_H
#define NIC_H

/**
 * @file
 * One modelled 82599: its registers and what stands behind them. A trap (a
 * driver's access to BAR 0) and the model's own thread (the wire) take turns;
 * whoever calls a function of this header holds nic->lock.
 */

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "regs.h"

#define NICS_MAX      4
#define FRAME_MAX     16128 /**< 15872, the largest MAXFRS the driver sets, and room for tags */
#define TX_PACKET_MAX (256u * 1024) /**< TSO: datasheet 7.2.4 */
#define EEPROM_WORDS  4096
#define RSS_INPUT_MAX 36 /**< two IPv6 addresses and two ports */

/** A rule of the flow director as FDIRCMD wrote it. */
struct director_rule {
	struct director_rule *next;
	uint32_t source, destination, ports, vlan, hash, command;
};

struct director {
	struct director_rule *rules;
	unsigned count;
};

/** What the lines of the two-wire bus to the module have said so far. */
struct i2c {
	enum {
		I2C_IDLE,
		I2C_ADDRESS,
		I2C_POINTER,
		I2C_WRITE,
		I2C_READ
	} state;
	unsigned bit;  /**< clock pulses of the present byte; the ninth is the acknowledgement */
	bool scl, sda; /**< as the driver holds them */
	bool out;      /**< as the module holds SDA: low wins */
	bool acknowledged; /**< the driver wants another byte */
	unsigned device;   /**< 0: address 0xA0, 1: 0xA2 */
	uint8_t shift, pointer;
};

/** Toeplitz hash: what each value of each input byte contributes. */
struct rss {
	uint32_t of[RSS_INPUT_MAX][256];
};

/** Transmit context, datasheet 7.2.3.2.3: two a queue. */
struct tx_context {
	uint32_t vlan_and_lengths, type, segmentation;
};

struct tx_queue {
	struct tx_context context[2];
	uint8_t *packet;	/**< segments gathered so far */
	uint32_t length;	/**< bytes gathered */
	uint32_t first_options; /**< last word of the packet's first descriptor */
};

/** Frames that wait to come in. */
struct playlist {
	struct wire_frame {
		const uint8_t *data;
		uint32_t length;
	} * frames;
	uint8_t *file; /**< what frames point into */
	size_t count, next;
	uint64_t rounds; /**< left to play; UINT64_MAX: for ever */
	bool playing;
};

/** What really happened, for tests: never cleared, whatever the driver reads. */
struct truth {
	uint64_t received;	   /**< frames put into a queue */
	uint64_t sent;		   /**< frames put on the wire */
	uint64_t held;		   /**< times a frame waited for a descriptor */
	uint64_t no_descriptor;	   /**< dropped: queue full */
	uint64_t queue_off;	   /**< dropped: steered to a queue that is off */
	uint64_t rule;		   /**< dropped by a rule of the flow director */
	uint64_t filtered;	   /**< dropped by MAC or VLAN filter, or length */
	uint64_t tx_malformed;	   /**< PAYLEN is not what the segments sum up to */
	uint64_t reads, writes;	   /**< traps */
	uint64_t queue[RX_QUEUES]; /**< frames put into each queue */
};

struct nic {
	uint8_t *bar; /**< PROT_NONE window the driver believes to be BAR 0; NULL in unit tests */
	uint32_t reg[BAR_SIZE / 4];
	pthread_spinlock_t lock;
	unsigned index;
	char pci[20];
	uint16_t device_id; /**< 0x10fb: SFP+ cage, 0x10f7: backplane */
	uint8_t mac[6];
	FILE *trace;

	uint16_t eeprom[EEPROM_WORDS];
	uint8_t module[2][256]; /**< SFF-8472: 0xA0 identification, 0xA2 diagnostics */
	struct i2c i2c;
	bool cable, cage; /**< connected; module plugged in */
	int interrupt;	  /**< model's end of the interrupt descriptor, -1: none */

	/* Derived from registers when they are written, to keep receiving cheap. */
	struct rss *rss;
	bool rss_stale;
	unsigned addresses, five_tuples, rx_queues, tx_queues; /**< highest in use, plus one */

	struct director director;
	struct tx_queue tx[TX_QUEUES];
	uint8_t *image; /**< a frame that is changed before it is put into buffers */

	bool overflow_drops; /**< a full queue loses frames as a full packet buffer does */
	struct playlist playlist;
	FILE *capture;
	bool capture_dirty;
	int socket; /**< -1: none */
	struct sockaddr_un peer;
	uint8_t *socket_frame;
	ssize_t socket_length;
	struct nic *crossed; /**< the NIC at the other end of the cable */

	struct truth truth;
};

extern struct nic *nics[NICS_MAX];
extern unsigned nic_count;

/** Turns an address in a descriptor into a pointer. The identity, or what EAL makes of it. */
extern void *(*nic_dma)(uint64_t iova);

static inline void
nic_lock(struct nic *nic)
{
	unsigned tries = 0;

	while (pthread_spin_trylock(&nic->lock) != 0) {
		__builtin_ia32_pause();
		/* The holder may wait for this very CPU. */
		if (++tries % 64 == 0)
			sched_yield();
	}
}

static inline void
nic_unlock(struct nic *nic)
{
	pthread_spin_unlock(&nic->lock);
}

/** A register as it is stored, without the side effects of nic_read(). */
static inline uint32_t
reg_get(const struct nic *nic, uint32_t address)
{
	return nic->reg[address / 4];
}

static inline void
reg_set(struct nic *nic, uint32_t address, uint32_t value)
{
	nic->reg[address / 4] = value;
}

/* --- nic.c --- */

/** A NIC after power-on; NULL: out of memory. */
struct nic *nic_create(unsigned index, uint16_t device_id);
void nic_destroy(struct nic *nic);
/** Registers as after power-on or a software reset (datasheet 4.2.1). */
void nic_reset(struct nic *nic);
bool nic_link_up(const struct nic *nic);
/** The cable and the module; a change of link interrupts the driver. */
void nic_plug(struct nic *nic, bool cable, bool cage);
/** Set causes in EICR; interrupts if one is new and enabled. */
void nic_interrupt(struct nic *nic, uint32_t causes);

/* --- registers.c --- */

uint32_t nic_read(struct nic *nic, uint32_t address);
void nic_write(struct nic *nic, uint32_t address, uint32_t value);

/* --- module.c --- */

void module_power_on(struct nic *nic);
/** The driver moved the lines of the two-wire bus. */
void module_lines(struct nic *nic, uint32_t i2cctl);

/* --- receive.c, transmit.c --- */

/** A frame (no FCS) arrives. False: no room now, offer it again. */
bool nic_receive(struct nic *nic, const uint8_t *data, uint32_t length);
/** Send at most budget packets of each queue; returns how many. */
unsigned nic_transmit(struct nic *nic, unsigned budget);

/* --- wire.c --- */

/** A frame (no FCS) leaves. */
void wire_send(struct nic *nic, const uint8_t *data, uint32_t length);
/** Receive at most budget frames from what is connected; returns how many. */
unsigned wire_receive(struct nic *nic, unsigned budget);
/** Play a capture from now on; the number of its frames, or -1 with a message on stderr. */
long wire_load(struct nic *nic, const char *path);
/** Generated UDP over IPv4: so many flows, frames of so many bytes. */
int wire_generate(struct nic *nic, unsigned flows, unsigned length);
/** Capture what is sent. */
int wire_capture(struct nic *nic, const char *path);
/** Datagram socket whose datagrams are frames. */
int wire_bind(struct nic *nic, const char *path);
void wire_flush(struct nic *nic);

#endif
