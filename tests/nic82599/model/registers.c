/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The register file. A register is plain storage unless the table below gives
 * it a behaviour; each row says where the behaviour comes from: a section of the
 * datasheet (Intel 331520), or what the driver is seen to rely on.
 */
#include "nic.h"

#include <stddef.h>

#include "director.h"

struct behaviour {
	uint32_t first, last; /**< addresses, both included */
	uint32_t step;	      /**< bytes from one register of the array to the next; 0: only one */
	const char *name;
	uint32_t ones;		/**< bits that always read 1 */
	uint32_t zeros;		/**< bits that always read 0 */
	uint32_t self_clearing; /**< command bits: done at once, never stored */
	bool clear_on_read;
	uint32_t alias, alias_step; /**< another address of the register at alias */
	uint32_t (*read)(struct nic *nic, uint32_t address);
	/** Returns what is stored. */
	uint32_t (*write)(struct nic *nic, uint32_t address, uint32_t value);
	const char *because;
};

/* --- general ---------------------------------------------------------------------- */

static uint32_t
read_status(struct nic *nic, uint32_t address)
{
	(void)address;
	return (nic->index & 1) << 2;
}

static uint32_t
write_ctrl(struct nic *nic, uint32_t address, uint32_t value)
{
	(void)address;
	if ((value & (CTRL_RST | CTRL_LRST)) != 0)
		nic_reset(nic);
	return value;
}

static uint32_t
read_esdp(struct nic *nic, uint32_t address)
{
	uint32_t value = reg_get(nic, address) & ~ESDP_SDP2;

	return nic->cage ? value | ESDP_SDP2 : value;
}

static uint32_t
read_i2cctl(struct nic *nic, uint32_t address)
{
	uint32_t value = reg_get(nic, address) & ~(I2C_CLK_IN | I2C_DATA_IN);

	if (nic->i2c.scl)
		value |= I2C_CLK_IN;
	if (nic->i2c.sda && nic->i2c.out)
		value |= I2C_DATA_IN;
	return value;
}

static uint32_t
write_i2cctl(struct nic *nic, uint32_t address, uint32_t value)
{
	(void)address;
	module_lines(nic, value);
	return value;
}

static uint32_t
read_eec(struct nic *nic, uint32_t address)
{
	uint32_t granted = (reg_get(nic, address) & EEC_REQ) != 0 ? EEC_GNT : 0;

	return (reg_get(nic, address) & EEC_REQ) | granted;
}

static uint32_t
read_eerd(struct nic *nic, uint32_t address)
{
	uint32_t word = reg_get(nic, address) >> 2 & (EEPROM_WORDS - 1);

	return (reg_get(nic, address) & 0xfffcu) | (uint32_t)nic->eeprom[word] << 16;
}

static uint32_t
read_swsm(struct nic *nic, uint32_t address)
{
	uint32_t value = reg_get(nic, address);

	reg_set(nic, address, value | SWSM_SMBI);
	return value;
}

/* --- interrupts --------------------------------------------------------------------- */

static uint32_t
write_eicr(struct nic *nic, uint32_t address, uint32_t value)
{
	return reg_get(nic, address) & ~value;
}

static uint32_t
write_eics(struct nic *nic, uint32_t address, uint32_t value)
{
	(void)address;
	nic_interrupt(nic, value);
	return 0;
}

static uint32_t
write_eims(struct nic *nic, uint32_t address, uint32_t value)
{
	uint32_t pending = reg_get(nic, R_EICR);

	reg_set(nic, address, reg_get(nic, address) | value);
	if ((pending & reg_get(nic, address)) != 0) {
		reg_set(nic, R_EICR, 0);
		nic_interrupt(nic, pending);
	}
	return reg_get(nic, address);
}

static uint32_t
read_eimc(struct nic *nic, uint32_t address)
{
	(void)address;
	return reg_get(nic, R_EIMS);
}

static uint32_t
write_eimc(struct nic *nic, uint32_t address, uint32_t value)
{
	(void)address;
	reg_set(nic, R_EIMS, reg_get(nic, R_EIMS) & ~value);
	return 0;
}

/* --- link ------------------------------------------------------------------------------ */

static uint32_t
read_links(struct nic *nic, uint32_t address)
{
	(void)address;
	return nic_link_up(nic) ? LINKS_UP | LINKS_10G | LINKS_KX_AN_COMP : 0;
}

/* --- queues, filters ------------------------------------------------------------------- */

static uint32_t
write_rxdctl(struct nic *nic, uint32_t address, uint32_t value)
{
	unsigned q =
		address < 0x02000 ? (address - 0x01000) / 0x40 : 64 + (address - 0x0d000) / 0x40;

	if ((value & DCTL_ENABLE) != 0 && q >= nic->rx_queues)
		nic->rx_queues = q + 1;
	return value;
}

static uint32_t
write_txdctl(struct nic *nic, uint32_t address, uint32_t value)
{
	unsigned q = (address - R_TX_QUEUE(0)) / 0x40;

	if ((value & DCTL_ENABLE) != 0 && q >= nic->tx_queues)
		nic->tx_queues = q + 1;
	return value;
}

static uint32_t
write_rah(struct nic *nic, uint32_t address, uint32_t value)
{
	unsigned i = (address - R_RAH(0)) / 8;

	if ((value & RAH_AV) != 0 && i >= nic->addresses)
		nic->addresses = i + 1;
	return value;
}

static uint32_t
write_ftqf(struct nic *nic, uint32_t address, uint32_t value)
{
	unsigned i = (address - R_FTQF(0)) / 4;

	if ((value & FTQF_ENABLE) != 0 && i >= nic->five_tuples)
		nic->five_tuples = i + 1;
	return value;
}

static uint32_t
write_rssrk(struct nic *nic, uint32_t address, uint32_t value)
{
	(void)address;
	nic->rss_stale = true;
	return value;
}

/* --- flow director ----------------------------------------------------------------------- */

static uint32_t
write_fdirctrl(struct nic *nic, uint32_t address, uint32_t value)
{
	(void)address;
	director_flush(nic);
	return value | FDIRCTRL_INIT_DONE;
}

static uint32_t
write_fdircmd(struct nic *nic, uint32_t address, uint32_t value)
{
	(void)address;
	return director_command(nic, value);
}

static uint32_t
read_fdirfree(struct nic *nic, uint32_t address)
{
	(void)address;
	return director_free(nic) & 0xffff;
}

/* --- the table ------------------------------------------------------------------------------ */

static const struct behaviour behaviours[] = {
	{R_CTRL, R_CTRL, 0, "CTRL", .self_clearing = CTRL_RST | CTRL_LRST, .write = write_ctrl,
	 .because = "4.2.1, 8.2.3.1: both resets clear their own bit"},
	{R_STATUS, R_STATUS, 0, "STATUS", .read = read_status,
	 .because = "8.2.3.1: LAN id; the driver waits for GIO master enable (bit 19) to fall"},
	{R_ESDP, R_ESDP, 0, "ESDP", .read = read_esdp,
	 .because = "driver: an SFP+ port reads SDP2 to know whether a module is there"},
	{R_I2CCTL, R_I2CCTL, 0, "I2CCTL", .read = read_i2cctl, .write = write_i2cctl,
	 .because = "8.2.3.1: the lines of the bus to the module, moved bit by bit by the driver"},

	{R_EEC, R_EEC, 0, "EEC", .ones = EEC_PRES | EEC_ARD | EEC_ADDR | EEC_SIZE_4K,
	 .read = read_eec, .because = "8.2.3.2: a grant follows each request at once"},
	{R_EERD, R_EERD, 0, "EERD", .ones = EERD_DONE, .read = read_eerd,
	 .because = "8.2.3.2: done when polled, the word in the upper half"},
	{R_EEMNGCTL, R_EEMNGCTL, 0, "EEMNGCTL", .ones = EEMNGCTL_CFG_DONE,
	 .because = "driver: waits after a reset until its port is configured"},
	{R_SWSM, R_SWSM, 0, "SWSM", .read = read_swsm,
	 .because = "10.5.4: reading takes the semaphore, the bit reads 0 to whom it is given"},
	{R_FWSM, R_FWSM, 0, "FWSM", .zeros = UINT32_MAX,
	 .because = "8.2.3.4: no management firmware"},

	{R_EICR, R_EICR, 0, "EICR", .clear_on_read = true, .write = write_eicr,
	 .because = "8.2.3.5: cleared by reading, and by writing ones"},
	{R_EICS, R_EICS, 0, "EICS", .zeros = UINT32_MAX, .write = write_eics,
	 .because = "8.2.3.5: sets causes"},
	{R_EIMS, R_EIMS, 0, "EIMS", .write = write_eims,
	 .because = "8.2.3.5: ones enable; a cause that is pending interrupts then"},
	{R_EIMC, R_EIMC, 0, "EIMC", .read = read_eimc, .write = write_eimc,
	 .because = "8.2.3.5: ones disable"},

	{0x02100, 0x0213c, 4, "SRRCTL", .alias = 0x01014, .alias_step = 0x40,
	 .because = "8.2.3.8: the first 16 also at the addresses of the 82598"},
	{0x02200, 0x0223c, 4, "DCA_RXCTRL", .alias = 0x0100c, .alias_step = 0x40,
	 .because = "8.2.3.11: the first 16 also at the addresses of the 82598"},
	{0x05400, 0x0547c, 4, "RAL, RAH", .alias = R_RAL(0), .alias_step = 4,
	 .because = "8.2.3.7: the first 16 also at the addresses of the 82598"},
	{0x05480, 0x054bc, 4, "PSRTYPE", .alias = 0x0ea00, .alias_step = 4,
	 .because = "8.2.3.7: the first 16 also at the addresses of the 82598"},
	{0x07300, 0x0731c, 4, "TQSM", .alias = R_TQSM(0), .alias_step = 4,
	 .because = "8.2.3.23: the first 8 also at the addresses of the 82598"},

	{0x01028, 0x01fe8, 0x40, "RXDCTL", .self_clearing = DCTL_SWFLSH, .write = write_rxdctl,
	 .because = "8.2.3.8: ENABLE reads back once the queue is on (or off): at once"},
	{0x0d028, 0x0dfe8, 0x40, "RXDCTL", .self_clearing = DCTL_SWFLSH, .write = write_rxdctl,
	 .because = "8.2.3.8: queues 64 to 127"},
	{0x06028, 0x07fe8, 0x40, "TXDCTL", .self_clearing = DCTL_SWFLSH, .write = write_txdctl,
	 .because = "8.2.3.9: ENABLE as in RXDCTL; SWFLSH clears itself"},
	{R_RDRXCTL, R_RDRXCTL, 0, "RDRXCTL", .ones = RDRXCTL_DMAIDONE,
	 .because = "8.2.3.8: DMA initialised, as the reset sequence (4.6.3) waits for"},
	{R_RAH(0), R_RAH(127), 8, "RAH", .write = write_rah,
	 .because = "8.2.3.7: plain storage; noted which addresses are in use"},
	{R_FTQF(0), R_FTQF(127), 4, "FTQF", .write = write_ftqf,
	 .because = "8.2.3.7: plain storage; noted which filters are in use"},
	{R_RSSRK(0), R_RSSRK(9), 4, "RSSRK", .write = write_rssrk,
	 .because = "8.2.3.7: plain storage; the tables made of the key are stale"},
	{R_SECTXSTAT, R_SECTXSTAT, 0, "SECTXSTAT", .ones = SEC_READY, .zeros = ~SEC_READY,
	 .because = "8.2.3.12: the driver stops the path and waits for 'ready'"},
	{R_SECRXSTAT, R_SECRXSTAT, 0, "SECRXSTAT", .ones = SEC_READY, .zeros = ~SEC_READY,
	 .because = "8.2.3.12: the driver stops the path and waits for 'ready'"},

	{R_AUTOC, R_AUTOC, 0, "AUTOC", .self_clearing = AUTOC_AN_RESTART,
	 .because = "8.2.3.22: restarting negotiation clears its bit"},
	{R_ANLP1, R_ANLP1, 0, "ANLP1", .ones = 1u << 16, .zeros = ANLP1_AN_STATE & ~(1u << 16),
	 .because = "driver: waits until the state machine of negotiation has left state 0"},
	{R_LINKS, R_LINKS, 0, "LINKS", .read = read_links,
	 .because = "8.2.3.22: up, 10 Gbit/s, negotiation complete"},
	{R_MSCA, R_MSCA, 0, "MSCA", .self_clearing = MSCA_COMMAND,
	 .because = "8.2.3.22: the command is done at once"},
	{R_MSRWD, R_MSRWD, 0, "MSRWD", .ones = 0xffff0000u, .zeros = 0xffffu,
	 .because = "8.2.3.22: nothing answers on the MDIO bus, its pull-up is read"},

	{R_FDIRCTRL, R_FDIRCTRL, 0, "FDIRCTRL", .write = write_fdirctrl,
	 .because = "7.1.2.7, 8.2.3.21: writing starts anew with an empty table"},
	{R_FDIRCMD, R_FDIRCMD, 0, "FDIRCMD", .write = write_fdircmd,
	 .because = "8.2.3.21: commands complete at once"},
	{R_FDIRFREE, R_FDIRFREE, 0, "FDIRFREE", .read = read_fdirfree,
	 .because = "8.2.3.21: free places"},
	{R_FDIRUSTAT, R_FDIRMISS, 4, "FDIRUSTAT to FDIRMISS", .clear_on_read = true,
	 .because = "8.2.3.21: statistics, cleared by reading"},

	{0x03f00, 0x041fc, 4, "statistics", .clear_on_read = true,
	 .because = "8.2.3.23: cleared by reading"},
	{R_QPRC(0), R_QPRC(15), 0x40, "QPRC", .clear_on_read = true, .because = "8.2.3.23"},
	{R_QBRC(0), R_QBRC(15), 0x40, "QBRC_L", .clear_on_read = true, .because = "8.2.3.23"},
	{R_QBRC(0) + 4, R_QBRC(15) + 4, 0x40, "QBRC_H", .clear_on_read = true,
	 .because = "8.2.3.23"},
	{R_QPRDC(0), R_QPRDC(15), 0x40, "QPRDC", .clear_on_read = true, .because = "8.2.3.23"},
	{R_QPTC(0), R_QPTC(15), 0x40, "QPTC", .clear_on_read = true, .because = "8.2.3.23"},
	{R_QBTC(0), R_QBTC(15) + 4, 4, "QBTC", .clear_on_read = true, .because = "8.2.3.23"},
};
#define BEHAVIOURS (sizeof(behaviours) / sizeof(behaviours[0]))

/** Row of each register, plus one; 0: plain storage. */
static uint8_t row_of[BAR_SIZE / 4];
_Static_assert(BEHAVIOURS < UINT8_MAX, "row_of holds a row's number in one byte");

__attribute__((constructor)) static void
index_behaviours(void)
{
	const struct behaviour *b;
	uint32_t address;

	for (b = behaviours; b < behaviours + BEHAVIOURS; b++)
		for (address = b->first; address <= b->last; address += b->step != 0 ? b->step : 4)
			row_of[address / 4] = (uint8_t)(b - behaviours + 1);
}

/** The behaviour of a register, its aliases resolved; NULL: plain storage. */
static const struct behaviour *
behaviour_of(uint32_t *address)
{
	static const struct behaviour plain = {.name = "plain storage"};
	const struct behaviour *b;

	if (row_of[*address / 4] == 0)
		return &plain;
	b = &behaviours[row_of[*address / 4] - 1];
	if (b->alias == 0)
		return b;
	*address = b->alias + (*address - b->first) / b->step * b->alias_step;
	return behaviour_of(address);
}

static void
trace(const struct nic *nic, char kind, uint32_t address, uint32_t value)
{
	if (nic->trace != NULL)
		fprintf(nic->trace, "%u %c %05x %08x %s\n", nic->index, kind, address, value,
			behaviour_of(&address)->name);
}

uint32_t
nic_read(struct nic *nic, uint32_t address)
{
	uint32_t canonical = address;
	const struct behaviour *b = behaviour_of(&canonical);
	uint32_t value = b->read != NULL ? b->read(nic, canonical) : reg_get(nic, canonical);

	value = (value & ~b->zeros) | b->ones;
	if (b->clear_on_read)
		reg_set(nic, canonical, 0);
	trace(nic, 'R', address, value);
	return value;
}

void
nic_write(struct nic *nic, uint32_t address, uint32_t value)
{
	uint32_t canonical = address;
	const struct behaviour *b = behaviour_of(&canonical);

	trace(nic, 'W', address, value);
	if (b->write != NULL)
		value = b->write(nic, canonical, value);
	reg_set(nic, canonical, value & ~b->self_clearing);
}
