/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loadable object: puts the NICs that NIC82599 in the environment describes
 * on EAL's PCI bus, where the unmodified ixgbe driver finds and probes them.
 *
 * Loaded with EAL's -d or LD_PRELOAD, its constructor wraps two functions: the
 * bus's scan, to make and add the devices, and the driver's probe, to give them
 * a BAR and an interrupt descriptor. The first probe starts the model's thread:
 * the wire.
 *
 * Without NIC82599 nothing is changed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#include "eal.h"
#include "plugin.h"
#include "trap.h"

static struct rte_pci_bus *pci;
static int (*scan_of_bus)(void);
static int (*probe_of_driver)(struct rte_pci_driver *, struct rte_pci_device *);

/* --- the model's thread ------------------------------------------------------------------ */

#define BUDGET	   64  /**< frames a direction and turn, so that traps get the lock */
#define IDLE_TURNS 200 /**< after so many turns without a frame it sleeps between them */
#define SLEEP_US   50

static pthread_t thread;
static bool thread_runs;
static atomic_bool stop_thread;

static unsigned
serve(struct nic *nic)
{
	unsigned done;

	nic_lock(nic);
	done = nic_transmit(nic, BUDGET);
	done += wire_receive(nic, BUDGET);
	nic_unlock(nic);
	return done;
}

/** EAL writes to a UIO descriptor to unmask; nobody must wait for us to read that. */
static void
housekeeping(struct nic *nic)
{
	uint32_t words[16];

	nic_lock(nic);
	wire_flush(nic);
	nic_unlock(nic);
	while (nic->interrupt >= 0 && recv(nic->interrupt, words, sizeof(words), MSG_DONTWAIT) > 0)
		;
}

static void *
run_wire(void *unused)
{
	unsigned idle = 0, turn, done, i;

	(void)unused;
	for (turn = 0; !stop_thread; turn++) {
		for (i = 0, done = 0; i < nic_count; i++)
			done += serve(nics[i]);
		idle = done != 0 ? 0 : idle + 1;
		if (turn % 256 == 0 || idle == IDLE_TURNS)
			for (i = 0; i < nic_count; i++)
				housekeeping(nics[i]);
		if (turn % 256 == 0 || idle >= IDLE_TURNS)
			control_poll();
		if (idle >= IDLE_TURNS)
			usleep(SLEEP_US);
	}
	return NULL;
}

static void *
dma_physical(uint64_t iova)
{
	return rte_mem_iova2virt(iova);
}

static int
start_thread(void)
{
	if (thread_runs)
		return 0;
	if (rte_eal_iova_mode() == RTE_IOVA_PA)
		nic_dma = dma_physical;
	if (trap_install() < 0)
		return -1;
	/* EAL keeps control threads off the workers' CPUs. */
	if (rte_ctrl_thread_create(&thread, "nic82599", NULL, run_wire, NULL) != 0)
		return -1;
	thread_runs = true;
	return 0;
}

/* --- the bus -------------------------------------------------------------------------------- */

static struct rte_devargs *
devargs_of(const struct rte_pci_addr *address)
{
	struct rte_devargs *devargs;
	struct rte_pci_addr other;

	RTE_EAL_DEVARGS_FOREACH("pci", devargs)
		if (rte_pci_addr_parse(devargs->name, &other) == 0 &&
		    rte_pci_addr_cmp(&other, address) == 0)
			return devargs;
	return NULL;
}

/** EAL's -a and -b. */
static bool
is_allowed(const struct rte_devargs *devargs)
{
	if (pci->bus.conf.scan_mode == RTE_BUS_SCAN_ALLOWLIST)
		return devargs != NULL && devargs->policy == RTE_DEV_ALLOWED;
	return devargs == NULL || devargs->policy != RTE_DEV_BLOCKED;
}

static bool
is_on_bus(const struct nic *nic)
{
	const struct rte_pci_device *device;

	TAILQ_FOREACH(device, &pci->device_list, next)
		if (strcmp(device->name, nic->pci) == 0)
			return true;
	return false;
}

static int
add_device(const struct nic *nic)
{
	struct rte_pci_device *device = calloc(1, sizeof(*device));

	if (device == NULL || rte_pci_addr_parse(nic->pci, &device->addr) != 0) {
		fprintf(stderr, "82599 model: pci=%s: not understood\n", nic->pci);
		free(device);
		return -1;
	}
	device->id = (struct rte_pci_id){
		.class_id = 0x020000,
		.vendor_id = 0x8086,
		.device_id = nic->device_id,
		.subsystem_vendor_id = 0x8086,
		.subsystem_device_id = 3,
	};
	rte_pci_device_name(&device->addr, device->name, sizeof(device->name));
	device->device.name = device->name;
	device->device.devargs = devargs_of(&device->addr);
	device->device.bus = &pci->bus;
	if (asprintf(&device->bus_info, "vendor_id=8086, device_id=%x", nic->device_id) > 0)
		device->device.bus_info = device->bus_info;
	device->mem_resource[0].phys_addr = 0xf0000000u + nic->index * 0x100000u;
	device->mem_resource[0].len = BAR_SIZE;
	device->kdrv = RTE_PCI_KDRV_UNKNOWN;
	if (rte_dev_name(&device->device) != device->name ||
	    rte_dev_bus(&device->device) != &pci->bus ||
	    rte_dev_devargs(&device->device) != device->device.devargs) {
		fprintf(stderr, "82599 model: this EAL's devices are not as eal.h has them\n");
		free(device);
		return -1;
	}
	if (is_allowed(device->device.devargs))
		TAILQ_INSERT_TAIL(&pci->device_list, device, next);
	return 0;
}

static int
open_trace(const char *path)
{
	FILE *trace = fopen(path, "w");
	unsigned i;

	if (trace == NULL) {
		perror(path);
		return -1;
	}
	for (i = 0; i < nic_count; i++)
		nics[i]->trace = trace;
	return 0;
}

/** Not before a program scans its buses: a shell that inherits LD_PRELOAD is no NIC, nor are the
 * children of one that is. */
static int
make_nics(void)
{
	const char *description = getenv("NIC82599"), *path = getenv("NIC82599_CTL");
	const char *trace = getenv("NIC82599_TRACE");

	if (description == NULL)
		return 0;
	if (setup_nics(description) < 0 || (path != NULL && control_open(path) < 0) ||
	    (trace != NULL && open_trace(trace) < 0))
		return -1;
	return unsetenv("NIC82599");
}

static int
scan(void)
{
	int result = scan_of_bus();
	unsigned i;

	if (make_nics() < 0)
		exit(EXIT_FAILURE);
	for (i = 0; i < nic_count && result == 0; i++)
		if (!is_on_bus(nics[i]))
			result = add_device(nics[i]);
	return result;
}

/* --- the driver ------------------------------------------------------------------------------ */

static struct nic *
nic_of(const struct rte_pci_device *device)
{
	unsigned i;

	for (i = 0; i < nic_count; i++)
		if (strcmp(nics[i]->pci, device->name) == 0)
			return nics[i];
	return NULL;
}

/** What UIO would give: a descriptor that is readable when the NIC interrupts. */
static int
connect_interrupt(struct nic *nic, struct rte_pci_device *device)
{
	int ends[2];

	if (nic->interrupt >= 0)
		close(nic->interrupt); /* attached again */
	nic->interrupt = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	nic->interrupt = ends[1];
	if (rte_intr_fd_set(device->intr_handle, ends[0]) != 0 ||
	    rte_intr_type_set(device->intr_handle, RTE_INTR_HANDLE_UIO) != 0)
		return -1;
	return 0;
}

static int
probe(struct rte_pci_driver *driver, struct rte_pci_device *device)
{
	struct nic *nic = nic_of(device);

	if (nic == NULL) {
		/* A real card beside ours: what the bus no longer does for this driver. */
		int result = rte_pci_map_device(device);

		return result != 0 ? result : probe_of_driver(driver, device);
	}
	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		fprintf(stderr, "82599 model: primary processes only\n");
		return -1;
	}
	if (connect_interrupt(nic, device) < 0 || start_thread() < 0)
		return -1;
	device->mem_resource[0].addr = nic->bar;
	return probe_of_driver(driver, device);
}

/* --- load, unload --------------------------------------------------------------------------------
 */

static struct rte_pci_driver *
find_driver(const char *name)
{
	struct rte_pci_driver *driver;

	TAILQ_FOREACH(driver, &pci->driver_list, next)
		if (strcmp(rte_driver_name(&driver->driver), name) == 0)
			return driver;
	return NULL;
}

static int
wrap_functions(void)
{
	struct rte_pci_driver *driver;

	/* DPDK's constructors have run before ours: we are linked against them. */
	pci = (struct rte_pci_bus *)rte_bus_find_by_name("pci");
	if (pci == NULL || strncmp(rte_version(), "DPDK 22.11", 10) != 0 ||
	    strcmp(pci->bus.name, "pci") != 0)
		return -1;
	driver = find_driver("net_ixgbe");
	if (driver == NULL)
		return -1;
	scan_of_bus = pci->bus.scan;
	pci->bus.scan = scan;
	probe_of_driver = driver->probe;
	driver->probe = probe;
	driver->drv_flags &= ~(uint32_t)RTE_PCI_DRV_NEED_MAPPING;
	return 0;
}

__attribute__((constructor(65000))) static void
load(void)
{
	if (getenv("NIC82599") == NULL || pci != NULL || wrap_functions() == 0)
		return;
	fprintf(stderr, "82599 model: no net_ixgbe of DPDK 22.11 here\n");
	exit(EXIT_FAILURE);
}

__attribute__((destructor)) static void
unload(void)
{
	unsigned i;

	if (!thread_runs)
		return;
	stop_thread = true;
	pthread_join(thread, NULL);
	for (i = 0; i < nic_count; i++) {
		if (nics[i]->capture != NULL)
			fclose(nics[i]->capture);
		if (nics[i]->trace != NULL)
			fflush(nics[i]->trace);
	}
}
