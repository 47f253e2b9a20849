/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What reading and writing registers does beyond storing.
 */
#include "test_nic.h"

#include <sys/socket.h>
#include <unistd.h>

#include "stats.h"

static void
test_plain_registers_store(void **state)
{
	struct nic *nic = *state;

	nic_write(nic, R_FCTRL, 0x12345678);
	assert_int_equal(nic_read(nic, R_FCTRL), 0x12345678);
	assert_int_equal(nic_read(nic, R_FCTRL), 0x12345678);
}

static void
test_statistics_clear_on_read(void **state)
{
	static const uint32_t addresses[] = {
		0x03f00,	R_MPC,	    R_GPRC,	   0x041fc,	R_QPRC(0),
		R_QPRC(15),	R_QPRDC(0), R_QPRDC(15),   R_QPTC(15),	R_QBTC(15),
		R_QBTC(15) + 4, R_QBRC(3),  R_QBRC(3) + 4, R_FDIRMATCH,
	};
	struct nic *nic = *state;
	unsigned i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		stats_add(nic, addresses[i], 7);
		assert_int_equal(nic_read(nic, addresses[i]), 7);
		assert_int_equal(nic_read(nic, addresses[i]), 0);
	}
	/* The neighbours of queue counters are no counters. */
	nic_write(nic, R_RX_QUEUE(3) + Q_TAIL, 5);
	assert_int_equal(nic_read(nic, R_RX_QUEUE(3) + Q_TAIL), 5);
	assert_int_equal(nic_read(nic, R_RX_QUEUE(3) + Q_TAIL), 5);
}

static void
test_byte_counters_carry(void **state)
{
	struct nic *nic = *state;

	stats_add64(nic, R_GORC, UINT32_MAX);
	stats_add64(nic, R_GORC, 2);
	assert_int_equal(nic_read(nic, R_GORC), 1);
	assert_int_equal(nic_read(nic, R_GORC + 4), 1);
}

static void
test_interrupt_causes(void **state)
{
	struct nic *nic = *state;

	/* Set by EICS, cleared by writing ones, the rest by reading. */
	nic_write(nic, R_EICS, 0x30000f);
	nic_write(nic, R_EICR, 0x00000a);
	assert_int_equal(reg_get(nic, R_EICR), 0x300005);
	assert_int_equal(nic_read(nic, R_EICR), 0x300005);
	assert_int_equal(nic_read(nic, R_EICR), 0);
	assert_int_equal(nic_read(nic, R_EICS), 0);
}

static void
test_interrupt_mask(void **state)
{
	struct nic *nic = *state;

	nic_write(nic, R_EIMS, 0x0f);
	nic_write(nic, R_EIMS, EICR_LSC);
	nic_write(nic, R_EIMC, 0x03);
	assert_int_equal(nic_read(nic, R_EIMS), EICR_LSC | 0x0c);
	assert_int_equal(nic_read(nic, R_EIMC), EICR_LSC | 0x0c);
}

static bool
interrupted(int fd)
{
	uint32_t count;

	return recv(fd, &count, sizeof(count), MSG_DONTWAIT) == sizeof(count);
}

static void
test_link_change_interrupts_if_enabled(void **state)
{
	struct nic *nic = *state;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	nic->interrupt = ends[1];
	nic_plug(nic, false, true);
	assert_false(interrupted(ends[0]));
	assert_int_equal(nic_read(nic, R_LINKS) & LINKS_UP, 0);
	/* Enabling a pending cause interrupts. */
	nic_write(nic, R_EIMS, EICR_LSC);
	assert_true(interrupted(ends[0]));
	assert_int_equal(nic_read(nic, R_EICR), EICR_LSC);
	nic_plug(nic, true, true);
	assert_true(interrupted(ends[0]));
	/* Once a cause is pending it does not interrupt again. */
	nic_plug(nic, false, true);
	assert_false(interrupted(ends[0]));
	nic_plug(nic, true, true);
	assert_int_equal(nic_read(nic, R_LINKS), LINKS_UP | LINKS_10G | LINKS_KX_AN_COMP);
	close(ends[0]);
	close(ends[1]);
}

static void
test_aliases(void **state)
{
	static const uint32_t pairs[][2] = {
		{0x02100, R_RX_QUEUE(0) + Q_SRRCTL},
		{0x0213c, R_RX_QUEUE(15) + Q_SRRCTL},
		{0x02200, R_RX_DCA(0)},
		{0x0223c, R_RX_DCA(15)},
		{0x05400, R_RAL(0)},
		{0x0547c, R_RAH(15)},
		{0x05480, 0x0ea00},
		{0x054bc, 0x0ea3c},
		{0x07300, R_TQSM(0)},
		{0x0731c, R_TQSM(7)},
	};
	struct nic *nic = *state;
	unsigned i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		nic_write(nic, pairs[i][0], 0x100 + i);
		assert_int_equal(nic_read(nic, pairs[i][1]), 0x100 + i);
		nic_write(nic, pairs[i][1], 0x200 + i);
		assert_int_equal(nic_read(nic, pairs[i][0]), 0x200 + i);
	}
}

static void
test_commands_clear_themselves(void **state)
{
	struct nic *nic = *state;

	nic_write(nic, R_AUTOC, AUTOC_AN_RESTART | AUTOC_10G_SERIAL);
	assert_int_equal(nic_read(nic, R_AUTOC), AUTOC_10G_SERIAL);
	nic_write(nic, R_MSCA, MSCA_COMMAND | 5);
	assert_int_equal(nic_read(nic, R_MSCA), 5);
	nic_write(nic, R_RX_QUEUE(100) + Q_CONTROL, DCTL_ENABLE | DCTL_SWFLSH);
	assert_int_equal(nic_read(nic, R_RX_QUEUE(100) + Q_CONTROL), DCTL_ENABLE);
	assert_int_equal(nic->rx_queues, 101);
	nic_write(nic, R_TX_QUEUE(63) + Q_CONTROL, DCTL_ENABLE | DCTL_SWFLSH);
	assert_int_equal(nic_read(nic, R_TX_QUEUE(63) + Q_CONTROL), DCTL_ENABLE);
	assert_int_equal(nic->tx_queues, 64);
}

static void
test_reset(void **state)
{
	static const uint8_t mac[6] = {MAC_OF_NIC};
	struct nic *nic = *state;

	nic_write(nic, R_FCTRL, 1);
	nic_write(nic, R_RAL(0), 1);
	nic_write(nic, R_SW_FW_SYNC, 0x21);
	nic_write(nic, R_CTRL, CTRL_RST);
	assert_int_equal(nic_read(nic, R_CTRL), 0);
	assert_int_equal(nic_read(nic, R_FCTRL), 0);
	/* The station address is in the EEPROM; the semaphore belongs to both ports. */
	assert_int_equal(nic_read(nic, R_RAL(0)), load32(mac));
	assert_int_equal(nic_read(nic, R_RAH(0)), load16(mac + 4) | RAH_AV);
	assert_int_equal(nic_read(nic, R_SW_FW_SYNC), 0x21);
	assert_int_equal(nic_read(nic, R_AUTOC), AUTOC_10G_SERIAL);
}

static void
test_semaphore_is_taken_by_reading(void **state)
{
	struct nic *nic = *state;

	assert_int_equal(nic_read(nic, R_SWSM) & SWSM_SMBI, 0);
	assert_int_equal(nic_read(nic, R_SWSM) & SWSM_SMBI, SWSM_SMBI);
	nic_write(nic, R_SWSM, 0);
	assert_int_equal(nic_read(nic, R_SWSM) & SWSM_SMBI, 0);
}

static void
test_ready_bits(void **state)
{
	struct nic *nic = *state;

	assert_int_equal(nic_read(nic, R_RDRXCTL) & RDRXCTL_DMAIDONE, RDRXCTL_DMAIDONE);
	assert_int_equal(nic_read(nic, R_SECRXSTAT), SEC_READY);
	assert_int_equal(nic_read(nic, R_SECTXSTAT), SEC_READY);
	nic_write(nic, R_FWSM, 0xff);
	assert_int_equal(nic_read(nic, R_FWSM), 0);
	assert_int_equal(nic_read(nic, R_STATUS), 0);
	nic->index = 1;
	assert_int_equal(nic_read(nic, R_STATUS), 1 << 2);
}

static uint16_t
eeprom_word(struct nic *nic, uint32_t word)
{
	uint32_t value;

	nic_write(nic, R_EERD, word << 2 | 1);
	value = nic_read(nic, R_EERD);
	assert_int_equal(value & EERD_DONE, EERD_DONE);
	return (uint16_t)(value >> 16);
}

static void
test_eeprom(void **state)
{
	struct nic *nic = *state;
	uint16_t sum = 0;
	uint32_t word;

	for (word = 0; word <= 0x3f; word++)
		sum = (uint16_t)(sum + eeprom_word(nic, word));
	assert_int_equal(sum, 0xbaba);
	nic_write(nic, R_EEC, EEC_REQ);
	assert_int_equal(nic_read(nic, R_EEC) & EEC_GNT, EEC_GNT);
	nic_write(nic, R_EEC, 0);
	assert_int_equal(nic_read(nic, R_EEC) & EEC_GNT, 0);
}

/* --- the module, over its bus ----------------------------------------------------------- */

static void
lines(struct nic *nic, bool scl, bool sda)
{
	nic_write(nic, R_I2CCTL, (scl ? I2C_CLK_OUT : 0) | (sda ? I2C_DATA_OUT : 0));
}

static bool
clock_bit(struct nic *nic, bool sda)
{
	bool seen;

	lines(nic, false, sda);
	lines(nic, true, sda);
	seen = (nic_read(nic, R_I2CCTL) & I2C_DATA_IN) != 0;
	lines(nic, false, sda);
	return seen;
}

static void
start(struct nic *nic)
{
	lines(nic, false, true);
	lines(nic, true, true);
	lines(nic, true, false);
	lines(nic, false, false);
}

/** True: acknowledged. */
static bool
send_byte(struct nic *nic, uint8_t byte)
{
	int bit;

	for (bit = 7; bit >= 0; bit--)
		clock_bit(nic, byte >> bit & 1);
	return !clock_bit(nic, true);
}

static uint8_t
read_byte(struct nic *nic, bool more)
{
	uint8_t byte = 0;
	int bit;

	for (bit = 0; bit < 8; bit++)
		byte = (uint8_t)(byte << 1 | clock_bit(nic, true));
	clock_bit(nic, !more);
	return byte;
}

static void
test_module_identifies_itself(void **state)
{
	struct nic *nic = *state;
	char name[17] = "";
	unsigned i;

	start(nic);
	assert_true(send_byte(nic, 0xa0));
	assert_true(send_byte(nic, 20));
	start(nic);
	assert_true(send_byte(nic, 0xa1));
	for (i = 0; i < 16; i++)
		name[i] = (char)read_byte(nic, i < 15);
	assert_string_equal(name, "Intel Corp      ");
	/* Another device, and an empty cage, do not answer. */
	start(nic);
	assert_false(send_byte(nic, 0x50));
	nic_plug(nic, true, false);
	assert_int_equal(nic_read(nic, R_ESDP) & ESDP_SDP2, 0);
	start(nic);
	assert_false(send_byte(nic, 0xa0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_nic, teardown_nic)
		TEST(test_plain_registers_store),
		TEST(test_statistics_clear_on_read),
		TEST(test_byte_counters_carry),
		TEST(test_interrupt_causes),
		TEST(test_interrupt_mask),
		TEST(test_link_change_interrupts_if_enabled),
		TEST(test_aliases),
		TEST(test_commands_clear_themselves),
		TEST(test_reset),
		TEST(test_semaphore_is_taken_by_reading),
		TEST(test_ready_bits),
		TEST(test_eeprom),
		TEST(test_module_identifies_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
