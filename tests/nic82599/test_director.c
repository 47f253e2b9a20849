/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow director: rules written as the driver writes them, which is also how
 * their hash is made: over the rule's masked fields.
 */
#include "test_nic.h"

#include "director.h"

#define BUCKET_KEY    0x3dad14e2u /* what the driver sets */
#define SIGNATURE_KEY 0x174d3614u
#define SOURCE	      0x0a000001u
#define DESTINATION   0x0a010001u
#define UDP	      17

static uint8_t bytes[256];

static struct frame
udp(uint32_t source, uint16_t destination_port)
{
	struct frame frame;
	unsigned length = make_ipv4(bytes, 0, UDP, source, DESTINATION, 1000, destination_port, 40);

	frame_parse(&frame, bytes, length);
	return frame;
}

/** Destination address and destination port decide; source address by mask. */
static void
set_masks(struct nic *nic, uint32_t source_mask, bool perfect)
{
	nic_write(nic, R_FDIRHKEY, BUCKET_KEY);
	nic_write(nic, R_FDIRSKEY, SIGNATURE_KEY);
	nic_write(nic, R_FDIRSIP4M, ~__builtin_bswap32(source_mask));
	nic_write(nic, R_FDIRDIP4M, 0);
	/* Bit-reversed ports, set bits leave out: here the source port. */
	nic_write(nic, R_FDIRUDPM, 0x0000ffff);
	nic_write(nic, R_FDIRTCPM, 0x0000ffff);
	nic_write(nic, R_FDIRM, FDIRM_VLANID | FDIRM_VLANP | FDIRM_FLEX);
	nic_write(nic, R_FDIRCTRL, (perfect ? FDIRCTRL_PERFECT : 0) | 1);
}

/** FDIRHASH of a rule for UDP over IPv4. */
static uint32_t
rule_hash(uint32_t source, uint32_t destination, uint16_t destination_port, uint32_t key)
{
	uint32_t words[14] = {0};
	uint8_t *b = (uint8_t *)words;

	b[1] = L4_UDP;
	words[1] = __builtin_bswap32(destination);
	words[5] = __builtin_bswap32(source);
	store16_be(b + 50, destination_port);
	return director_hash(words, key);
}

static void
add_rule(struct nic *nic, uint32_t source, uint16_t port, uint32_t hash, unsigned queue)
{
	nic_write(nic, R_FDIRSIPV4, __builtin_bswap32(source));
	nic_write(nic, R_FDIRIPDA, __builtin_bswap32(DESTINATION));
	nic_write(nic, R_FDIRPORT, (uint32_t)port << 16);
	nic_write(nic, R_FDIRVLAN, 0);
	nic_write(nic, R_FDIRHASH, hash);
	nic_write(nic, R_FDIRCMD, FDIRCMD_ADD | FDIRCMD_UPDATE | L4_UDP << 5 | queue << 16);
}

/** number: what the driver tells rules with one hash apart by. */
static void
add_perfect(struct nic *nic, uint32_t source, uint16_t port, unsigned number, unsigned queue)
{
	uint32_t bucket = rule_hash(source, DESTINATION, port, BUCKET_KEY) & 0x7ff;

	add_rule(nic, source, port, bucket | number << 16, queue);
}

static int
queue_of(struct nic *nic, struct frame frame)
{
	const struct director_rule *rule = director_match(nic, &frame);

	return rule == NULL ? -1 : (int)director_queue(nic, rule);
}

static void
test_perfect_rule_matches_its_fields(void **state)
{
	struct nic *nic = *state;

	set_masks(nic, UINT32_MAX, true);
	add_perfect(nic, SOURCE, 53, 1, 9);
	assert_int_equal(queue_of(nic, udp(SOURCE, 53)), 9);
	assert_int_equal(queue_of(nic, udp(SOURCE, 54)), -1);
	assert_int_equal(queue_of(nic, udp(SOURCE + 1, 53)), -1);
}

static void
test_mask_widens_a_rule(void **state)
{
	struct nic *nic = *state;

	set_masks(nic, 0xffffff00, true);
	add_perfect(nic, SOURCE & 0xffffff00, 53, 1, 9);
	assert_int_equal(queue_of(nic, udp(SOURCE, 53)), 9);
	assert_int_equal(queue_of(nic, udp(SOURCE + 77, 53)), 9);
	assert_int_equal(queue_of(nic, udp(SOURCE + 256, 53)), -1);
}

/** The driver accepts bits outside the mask; the NIC hashes packets without them. */
static void
test_bits_outside_the_mask_never_match(void **state)
{
	struct nic *nic = *state;

	set_masks(nic, 0xffffff00, true);
	add_perfect(nic, SOURCE, 53, 1, 9);
	assert_int_equal(queue_of(nic, udp(SOURCE, 53)), -1);
}

static void
test_remove_query_count(void **state)
{
	struct nic *nic = *state;
	unsigned empty = nic_read(nic, R_FDIRFREE);

	set_masks(nic, UINT32_MAX, true);
	assert_int_equal(empty != nic_read(nic, R_FDIRFREE), 1);
	empty = nic_read(nic, R_FDIRFREE);
	add_perfect(nic, SOURCE, 53, 1, 9);
	add_perfect(nic, SOURCE, 53, 2, 10);
	assert_int_equal(nic_read(nic, R_FDIRFREE), empty - 2);
	assert_int_equal(queue_of(nic, udp(SOURCE, 53)), 9);
	nic_write(nic, R_FDIRHASH,
		  (rule_hash(SOURCE, DESTINATION, 53, BUCKET_KEY) & 0x7ff) | 1 << 16);
	nic_write(nic, R_FDIRCMD, FDIRCMD_QUERY);
	assert_int_equal(nic_read(nic, R_FDIRCMD) & FDIRCMD_VALID, FDIRCMD_VALID);
	nic_write(nic, R_FDIRCMD, FDIRCMD_REMOVE);
	assert_int_equal(nic_read(nic, R_FDIRCMD) & FDIRCMD_CMD, 0);
	nic_write(nic, R_FDIRCMD, FDIRCMD_QUERY);
	assert_int_equal(nic_read(nic, R_FDIRCMD) & FDIRCMD_VALID, 0);
	assert_int_equal(queue_of(nic, udp(SOURCE, 53)), 10);
	nic_write(nic, R_FDIRCMD, FDIRCMD_REMOVE);
	/* Added twice, removed once, failed to remove once. */
	assert_int_equal(nic_read(nic, R_FDIRUSTAT), 1 << 16 | 2);
	assert_int_equal(nic_read(nic, R_FDIRFSTAT), 1 << 16);
}

static void
test_update_replaces(void **state)
{
	struct nic *nic = *state;

	set_masks(nic, UINT32_MAX, true);
	add_perfect(nic, SOURCE, 53, 1, 9);
	add_perfect(nic, SOURCE, 53, 1, 11);
	assert_int_equal(queue_of(nic, udp(SOURCE, 53)), 11);
	assert_int_equal(nic->director.count, 1);
}

static void
test_table_is_bounded(void **state)
{
	struct nic *nic = *state;
	unsigned i, places;

	set_masks(nic, UINT32_MAX, true);
	places = nic_read(nic, R_FDIRFREE);
	assert_int_equal(places, 2046);
	for (i = 0; i < places; i++)
		director_command(nic, FDIRCMD_ADD);
	assert_int_equal(nic_read(nic, R_FDIRFREE), 0);
	nic_read(nic, R_FDIRFSTAT);
	director_command(nic, FDIRCMD_ADD);
	assert_int_equal(nic_read(nic, R_FDIRFSTAT), 1);
	nic_write(nic, R_FDIRCTRL, FDIRCTRL_PERFECT | 1);
	assert_int_equal(nic_read(nic, R_FDIRFREE), places);
}

static void
test_dropping_rule_goes_to_the_drop_queue(void **state)
{
	struct nic *nic = *state;

	set_masks(nic, UINT32_MAX, true);
	nic_write(nic, R_FDIRCTRL, FDIRCTRL_PERFECT | 1 | 127 << 8);
	add_perfect(nic, SOURCE, 53, 1, 9);
	nic->director.rules->command |= FDIRCMD_DROP;
	assert_int_equal(queue_of(nic, udp(SOURCE, 53)), 127);
}

/** Two hashes of the masked packet are all a signature rule knows. */
static void
test_signature(void **state)
{
	struct nic *nic = *state;
	uint32_t bucket, signature;

	set_masks(nic, UINT32_MAX, false);
	bucket = rule_hash(SOURCE, DESTINATION, 53, BUCKET_KEY) & 0x1fff;
	signature = rule_hash(SOURCE, DESTINATION, 53, SIGNATURE_KEY);
	add_rule(nic, 0, 0, bucket | signature << 16, 9);
	assert_int_equal(queue_of(nic, udp(SOURCE, 53)), 9);
	assert_int_equal(queue_of(nic, udp(SOURCE, 54)), -1);
}

static void
test_ipv6_only_by_signature(void **state)
{
	struct nic *nic = *state;
	uint32_t words[14] = {0};
	struct frame frame;
	unsigned i;

	memset(bytes, 0, 80);
	make_ethernet(bytes, 0, 0x86dd);
	bytes[14] = 0x60;
	bytes[14 + 6] = 59;
	for (i = 0; i < 32; i++)
		bytes[14 + 8 + i] = (uint8_t)(0x20 + i);
	frame_parse(&frame, bytes, 80);
	((uint8_t *)words)[1] = 4;
	memcpy(&words[1], bytes + 14 + 24, 16);
	memcpy(&words[5], bytes + 14 + 8, 16);
	set_masks(nic, UINT32_MAX, false);
	nic_write(nic, R_FDIRIP6M, 0);
	add_rule(nic, 0, 0,
		 (director_hash(words, BUCKET_KEY) & 0x1fff) | director_hash(words, SIGNATURE_KEY)
								       << 16,
		 9);
	assert_int_equal(queue_of(nic, frame), 9);
	nic_write(nic, R_FDIRCTRL, FDIRCTRL_PERFECT | 1);
	add_rule(nic, 0, 0, director_hash(words, BUCKET_KEY) & 0x7ff, 9);
	assert_int_equal(queue_of(nic, frame), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_nic, teardown_nic)
		TEST(test_perfect_rule_matches_its_fields),
		TEST(test_mask_widens_a_rule),
		TEST(test_bits_outside_the_mask_never_match),
		TEST(test_remove_query_count),
		TEST(test_update_replaces),
		TEST(test_table_is_bounded),
		TEST(test_dropping_rule_goes_to_the_drop_queue),
		TEST(test_signature),
		TEST(test_ipv6_only_by_signature),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
