/* SPDX-License-Identifier: BSD-3-Clause */
#include "trap.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "decode.h"
#include "nic.h"

static struct sigaction previous;

/** Where the kernel keeps the general registers, in the instruction set's order. */
static const int saved_register[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,	 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

static void
pass_on(int number, siginfo_t *info, void *context)
{
	if ((previous.sa_flags & SA_SIGINFO) != 0)
		previous.sa_sigaction(number, info, context);
	else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
		previous.sa_handler(number);
	else
		signal(SIGSEGV, SIG_DFL); /* the instruction faults again, and ends the process */
}

static void
give_up(const uint8_t *code, uint32_t address)
{
	char text[160];
	int length, i;

	length = snprintf(text, sizeof(text), "82599 model: register %#x: unknown instruction",
			  address);
	for (i = 0; i < 15; i++)
		length += snprintf(text + length, sizeof(text) - (size_t)length, " %02x", code[i]);
	text[length++] = '\n';
	if (write(STDERR_FILENO, text, (size_t)length) < 0)
		_exit(1);
	abort();
}

static void
load(struct nic *nic, uint32_t address, const struct access *a, mcontext_t *cpu)
{
	unsigned within = address & 3;
	uint64_t value = nic_read(nic, address - within);
	uint8_t *reg;

	if (a->size == 8)
		value |= (uint64_t)nic_read(nic, address + 4) << 32;
	value >>= within * 8;
	if (a->kind == ACCESS_LOAD_XMM) {
		reg = (uint8_t *)&cpu->fpregs->_xmm[a->reg];
		memset(reg, 0, 16);
		memcpy(reg, &value, a->size);
		return;
	}
	reg = (uint8_t *)&cpu->gregs[saved_register[a->reg]];
	if (a->size >= 4 || a->kind == ACCESS_LOAD_ZERO)
		memset(reg, 0, 8);
	memcpy(reg + (a->high_byte ? 1 : 0), &value, a->size);
}

/** False: not a whole register, which a device register cannot be written with. */
static bool
store(struct nic *nic, uint32_t address, const struct access *a, const mcontext_t *cpu)
{
	uint64_t value = (uint64_t)a->immediate;

	if (a->size < 4 || (address & 3) != 0)
		return false;
	if (a->kind == ACCESS_STORE_XMM)
		memcpy(&value, (const uint8_t *)&cpu->fpregs->_xmm[a->reg] + a->from, a->size);
	else if (a->kind == ACCESS_STORE)
		value = (uint64_t)cpu->gregs[saved_register[a->reg]];
	nic_write(nic, address, (uint32_t)value);
	if (a->size == 8)
		nic_write(nic, address + 4, (uint32_t)(value >> 32));
	return true;
}

static struct nic *
nic_at(const void *address, uint32_t *offset)
{
	unsigned i;

	for (i = 0; i < nic_count; i++) {
		uintptr_t distance = (uintptr_t)address - (uintptr_t)nics[i]->bar;

		if (distance < BAR_SIZE) {
			*offset = (uint32_t)distance;
			return nics[i];
		}
	}
	return NULL;
}

static void
on_fault(int number, siginfo_t *info, void *context)
{
	mcontext_t *cpu = &((ucontext_t *)context)->uc_mcontext;
	const uint8_t *code = (const uint8_t *)cpu->gregs[REG_RIP];
	struct access access;
	uint32_t address;
	struct nic *nic = nic_at(info->si_addr, &address);
	bool done = true;

	if (nic == NULL) {
		pass_on(number, info, context);
		return;
	}
	if (!decode(code, &access))
		give_up(code, address);
	nic_lock(nic);
	if (access.kind == ACCESS_LOAD || access.kind == ACCESS_LOAD_ZERO ||
	    access.kind == ACCESS_LOAD_XMM) {
		nic->truth.reads++;
		load(nic, address, &access, cpu);
	} else {
		nic->truth.writes++;
		done = store(nic, address, &access, cpu);
	}
	nic_unlock(nic);
	if (!done)
		give_up(code, address);
	cpu->gregs[REG_RIP] += access.length;
}

int
trap_install(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	/* No other handler may run while the lock is held. */
	sigfillset(&action.sa_mask);
	return sigaction(SIGSEGV, &action, &previous);
}
