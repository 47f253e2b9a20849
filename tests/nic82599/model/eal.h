/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EAL_H
#define EAL_H

/**
 * @file
 * Structures of DPDK 22.11 (ABI 23) that drivers and buses share with EAL. They
 * are in headers of the driver SDK (bus_driver.h, dev_driver.h,
 * bus_pci_driver.h), which distributions do not install, so what the plugin
 * touches is declared here, field for field. Sizes and offsets are asserted
 * below; that the declarations are those of the running library, plugin.c
 * checks through public functions before it changes anything.
 */

#include <stddef.h>
#include <sys/queue.h>

#include <rte_bus.h>
#include <rte_bus_pci.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_interrupts.h>
#include <rte_pci.h>
#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0) || RTE_VERSION >= RTE_VERSION_NUM(23, 0, 0, 0)
#error "these structures are those of DPDK 22.11"
#endif

struct rte_driver {
	TAILQ_ENTRY(rte_driver) next;
	const char *name;
	const char *alias;
};

struct rte_device {
	TAILQ_ENTRY(rte_device) next;
	const char *name;
	const char *bus_info;
	const struct rte_driver *driver;
	const struct rte_bus *bus;
	int numa_node;
	struct rte_devargs *devargs;
};

enum rte_bus_scan_mode {
	RTE_BUS_SCAN_UNDEFINED,
	RTE_BUS_SCAN_ALLOWLIST,
	RTE_BUS_SCAN_BLOCKLIST,
};

struct rte_bus {
	TAILQ_ENTRY(rte_bus) next;
	const char *name;
	int (*scan)(void);
	int (*probe)(void);
	void *find_device, *plug, *unplug, *parse, *devargs_parse, *dma_map, *dma_unmap;
	struct {
		enum rte_bus_scan_mode scan_mode;
	} conf;
	void *get_iommu_class, *dev_iterate, *hot_unplug_handler, *sigbus_handler, *cleanup;
};

enum rte_pci_kernel_driver {
	RTE_PCI_KDRV_UNKNOWN,
};

struct rte_pci_driver;

struct rte_pci_device {
	TAILQ_ENTRY(rte_pci_device) next;
	struct rte_device device;
	struct rte_pci_addr addr;
	struct rte_pci_id id;
	struct rte_mem_resource mem_resource[PCI_MAX_RESOURCE];
	struct rte_intr_handle *intr_handle;
	struct rte_pci_driver *driver;
	uint16_t max_vfs;
	enum rte_pci_kernel_driver kdrv;
	char name[PCI_PRI_STR_SIZE + 1];
	char *bus_info;
	struct rte_intr_handle *vfio_req_intr_handle;
};

struct rte_pci_driver {
	TAILQ_ENTRY(rte_pci_driver) next;
	struct rte_driver driver;
	int (*probe)(struct rte_pci_driver *, struct rte_pci_device *);
	int (*remove)(struct rte_pci_device *);
	void *dma_map, *dma_unmap;
	const struct rte_pci_id *id_table;
	uint32_t drv_flags;
};

/** The bus maps a device's BARs before its driver is asked. */
#define RTE_PCI_DRV_NEED_MAPPING 0x0001

struct rte_pci_bus {
	struct rte_bus bus;
	TAILQ_HEAD(, rte_pci_device) device_list;
	TAILQ_HEAD(, rte_pci_driver) driver_list;
};

/* As gcc lays them out for x86-64; a field added or left out above shows here. */
_Static_assert(sizeof(struct rte_driver) == 32, "two links, two names");
_Static_assert(sizeof(struct rte_device) == 64, "two links, four pointers, node, devargs");
_Static_assert(offsetof(struct rte_bus, conf) == 12 * 8, "scan mode behind 12 pointers");
_Static_assert(sizeof(struct rte_mem_resource) == 24, "address, length, mapping");
_Static_assert(offsetof(struct rte_pci_device, addr) == 80, "links and device");
_Static_assert(offsetof(struct rte_pci_driver, probe) == 48, "links and driver");
_Static_assert(offsetof(struct rte_pci_bus, device_list) == sizeof(struct rte_bus), "packed");

#endif
