/* SPDX-License-Identifier: BSD-3-Clause */
#include "rss.h"

#include <string.h>

/** Bits at...at+31 of the key; zeros follow its end. */
static uint32_t
key_window(const uint8_t key[RSS_KEY_SIZE], unsigned at)
{
	uint64_t window = 0;
	unsigned i;

	for (i = 0; i < 8; i++)
		window = window << 8 | (at / 8 + i < RSS_KEY_SIZE ? key[at / 8 + i] : 0);
	return (uint32_t)(window << at % 8 >> 32);
}

void
rss_prepare(struct rss *rss, const uint8_t key[RSS_KEY_SIZE])
{
	unsigned i, value, bit;

	/* Each set bit of the input adds the 32 bits of the key that begin at its place. */
	memset(rss, 0, sizeof(*rss));
	for (i = 0; i < RSS_INPUT_MAX; i++)
		for (bit = 0; bit < 8; bit++) {
			uint32_t window = key_window(key, i * 8 + bit);

			for (value = 0; value < 256; value++)
				if ((value & 0x80u >> bit) != 0)
					rss->of[i][value] ^= window;
		}
}

uint32_t
rss_toeplitz(const struct rss *rss, const uint8_t *input, unsigned length)
{
	uint32_t hash = 0;
	unsigned i;

	for (i = 0; i < length; i++)
		hash ^= rss->of[i][input[i]];
	return hash;
}

/** The hash a packet gets: ports take part only if asked for, else addresses alone. */
static enum rss_type
choose_type(uint32_t mrqc, const struct frame *f)
{
	bool four = f->version == 4;

	if ((mrqc & MRQC_MODE) != MRQC_RSS || f->version == 0 || f->inner6)
		return RSS_NONE;
	if (f->l4_type == L4_TCP && (mrqc & (four ? MRQC_TCP4 : MRQC_TCP6)) != 0)
		return four ? RSS_TCP4 : RSS_TCP6;
	if (f->l4_type == L4_UDP && (mrqc & (four ? MRQC_UDP4 : MRQC_UDP6)) != 0)
		return four ? RSS_UDP4 : RSS_UDP6;
	if ((mrqc & (four ? MRQC_IPV4 : MRQC_IPV6)) != 0)
		return four ? RSS_IPV4 : RSS_IPV6;
	return RSS_NONE;
}

enum rss_type
rss_hash(struct nic *nic, const struct frame *f, uint32_t *hash)
{
	enum rss_type type = choose_type(reg_get(nic, R_MRQC), f);
	uint8_t input[RSS_INPUT_MAX];
	unsigned length = 2 * f->address_size;

	*hash = 0;
	if (type == RSS_NONE)
		return type;
	if (nic->rss_stale) {
		rss_prepare(nic->rss, (const uint8_t *)&nic->reg[R_RSSRK(0) / 4]);
		nic->rss_stale = false;
	}
	memcpy(input, f->source, f->address_size);
	memcpy(input + f->address_size, f->destination, f->address_size);
	if (type != RSS_IPV4 && type != RSS_IPV6) {
		memcpy(input + length, f->data + f->l4, 4);
		length += 4;
	}
	*hash = rss_toeplitz(nic->rss, input, length);
	return type;
}

unsigned
rss_queue(const struct nic *nic, uint32_t hash)
{
	unsigned entry = hash & 127;

	return reg_get(nic, R_RETA(entry / 4)) >> entry % 4 * 8 & 0xf;
}
