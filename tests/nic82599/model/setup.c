/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "id=10fb,rx=in.pcap,tx=out.pcap;id=10f7,cross=1": the NICs of a run.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "plugin.h"

/** What must wait until all options of a NIC are known. */
struct pending {
	const char *rx;
	unsigned flows, flow_length;
	bool rounds_given;
	uint64_t rounds;
};

static int
wrong(const char *option, const char *value)
{
	fprintf(stderr, "82599 model: %s=%s: not understood\n", option, value);
	return -1;
}

static int
set_mac(struct nic *nic, const char *value)
{
	uint8_t *m = nic->mac;

	if (sscanf(value, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", m, m + 1, m + 2, m + 3, m + 4, m + 5) !=
	    6)
		return wrong("mac", value);
	return 0;
}

static int
set_peer(struct nic *nic, const char *value)
{
	if (strlen(value) >= sizeof(nic->peer.sun_path))
		return wrong("peer", value);
	nic->peer.sun_family = AF_UNIX;
	strcpy(nic->peer.sun_path, value);
	return 0;
}

static int
set_id(struct nic *nic, const char *value)
{
	if (strcmp(value, "10fb") != 0 && strcmp(value, "10f7") != 0)
		return wrong("id", value);
	nic->device_id = (uint16_t)strtoul(value, NULL, 16);
	return 0;
}

static int
cross(struct nic *nic)
{
	if (nic->index == 0)
		return wrong("cross", "the first NIC has none before it to be connected with");
	nic->crossed = nics[nic->index - 1];
	nic->crossed->crossed = nic;
	return 0;
}

static int
set_option(struct nic *nic, const char *option, const char *value, struct pending *later)
{
	if (strcmp(option, "pci") == 0)
		snprintf(nic->pci, sizeof(nic->pci), "%s", value);
	else if (strcmp(option, "id") == 0)
		return set_id(nic, value);
	else if (strcmp(option, "mac") == 0)
		return set_mac(nic, value);
	else if (strcmp(option, "rx") == 0)
		later->rx = value;
	else if (strcmp(option, "gen") == 0)
		return sscanf(value, "%ux%u", &later->flows, &later->flow_length) == 2
			       ? 0
			       : wrong(option, value);
	else if (strcmp(option, "loop") == 0) {
		later->rounds_given = true;
		later->rounds = strtoull(value, NULL, 10);
	} else if (strcmp(option, "hold") == 0)
		nic->playlist.playing = strcmp(value, "0") == 0;
	else if (strcmp(option, "tx") == 0)
		return wire_capture(nic, value);
	else if (strcmp(option, "sock") == 0)
		return wire_bind(nic, value);
	else if (strcmp(option, "peer") == 0)
		return set_peer(nic, value);
	else if (strcmp(option, "cross") == 0)
		return cross(nic);
	else if (strcmp(option, "link") == 0)
		nic->cable = strcmp(value, "0") != 0;
	else if (strcmp(option, "overflow") == 0)
		nic->overflow_drops = strcmp(value, "drop") == 0;
	else
		return wrong(option, value);
	return 0;
}

static int
set_options(struct nic *nic, char *text, struct pending *later)
{
	char *option, *value, *rest;

	for (option = strtok_r(text, ",", &rest); option != NULL;
	     option = strtok_r(NULL, ",", &rest)) {
		value = strchr(option, '=');
		if (value == NULL)
			return wrong(option, "");
		*value++ = '\0';
		if (set_option(nic, option, value, later) < 0)
			return -1;
	}
	return 0;
}

static int
finish(struct nic *nic, const struct pending *later)
{
	if (later->rx != NULL && wire_load(nic, later->rx) < 0)
		return -1;
	if (later->flows != 0 && wire_generate(nic, later->flows, later->flow_length) < 0)
		return -1;
	if (later->rounds_given)
		nic->playlist.rounds = later->rounds == 0 ? UINT64_MAX : later->rounds;
	nic->bar =
		mmap(NULL, BAR_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (nic->bar == MAP_FAILED) {
		perror("82599 model: BAR 0");
		return -1;
	}
	/* The identity and address may have changed since power-on. */
	nic_reset(nic);
	return 0;
}

static int
setup_nic(char *text)
{
	struct pending later = {0};
	struct nic *nic = nic_create(nic_count, 0x10fb);

	if (nic == NULL)
		return -1;
	if (set_options(nic, text, &later) < 0 || finish(nic, &later) < 0) {
		if (nic->crossed != NULL)
			nic->crossed->crossed = NULL;
		nic_destroy(nic);
		return -1;
	}
	nics[nic_count++] = nic;
	return 0;
}

int
setup_nics(const char *text)
{
	char *copy = strdup(text), *one, *rest;
	int result = 0;

	if (copy == NULL)
		return -1;
	for (one = strtok_r(copy, ";", &rest); one != NULL && result == 0;
	     one = strtok_r(NULL, ";", &rest))
		result = nic_count == NICS_MAX ? wrong("NICs", "too many") : setup_nic(one);
	free(copy);
	return result;
}
