/* Processes of user-mode Linux, to be preloaded with clock.c.
 *
 * Life: a process that lost its tracer would go on as a process of the host, with the host's system calls. All are
 * therefore killed by the host as soon as the kernel of user-mode Linux ends, and that kernel with its own parent.
 *
 * Time and chance: RDTSC, RDTSCP and CPUID are trapped where the processor can do so (PR_SET_TSC, ARCH_SET_CPUID). The
 * counter of time then counts nanoseconds of the virtual clock, and programs are told that there is no RDRAND and no
 * RDSEED.
 *
 * Registers: user-mode Linux 6.1 keeps 2696 bytes of a process's floating-point state. With AMX the state has 11008
 * bytes, and the host refuses a PTRACE_SETREGSET of NT_X86_XSTATE that is not the whole of it (`xstateregs_set`): no
 * process would ever start. What user-mode Linux does not know of is therefore read from the process and written back
 * unchanged.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Room for any state that a processor has today. */
enum { MOST_BYTES = 1 << 14 };
enum { ARCH_SET_CPUID = 0x1012, SYSEMU = 31, SYSEMU_SINGLESTEP = 32 };
enum { RDRAND = 1 << 30, RDSEED = 1 << 18 };

int64_t airqueue_read_clock(void);
void airqueue_go_on(void);

typedef long (*ptrace_call)(enum __ptrace_request, pid_t, void *, void *);

/* The request that last let a process run. */
static struct {
	enum __ptrace_request request;
	void *address;
} resumed;

static void *following(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void end_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void trap(void)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
}

/* The same request with the state in its whole length. */
static long set_whole(ptrace_call next, pid_t process, void *kind, const struct iovec *given)
{
	/* Not on the stack, for those of user-mode Linux have 16 KiB. One thread alone traces. */
	static char state[MOST_BYTES];
	struct iovec whole = { .iov_base = state, .iov_len = sizeof(state) };
	if (next(PTRACE_GETREGSET, process, kind, &whole) < 0)
		return -1;
	if (whole.iov_len < given->iov_len) {
		errno = EFAULT;
		return -1;
	}
	memcpy(state, given->iov_base, given->iov_len);
	return next(PTRACE_SETREGSET, process, kind, &whole);
}

static int resumes(long request)
{
	return request == PTRACE_CONT || request == PTRACE_SYSCALL || request == PTRACE_SINGLESTEP ||
	       request == SYSEMU || request == SYSEMU_SINGLESTEP;
}

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_call next;
	va_list arguments;
	va_start(arguments, request);
	pid_t process = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);
	if (!next)
		next = (ptrace_call)following("ptrace");
	/* 21 is PTRACE_OLDSETOPTIONS. */
	if (request == PTRACE_SETOPTIONS || (long)request == 21) {
		request = PTRACE_SETOPTIONS;
		data = (void *)((uintptr_t)data | PTRACE_O_EXITKILL);
	}
	if (request == (enum __ptrace_request)SYSEMU)
		airqueue_go_on();
	if (resumes(request)) {
		resumed.request = request;
		resumed.address = address;
	}
	long done = next(request, process, address, data);
	int state = request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE;
	if (done < 0 && errno == EFAULT && state)
		return set_whole(next, process, address, data);
	return done;
}

struct beginning {
	int (*function)(void *);
	void *argument;
};

/* The beginning of a process. The memory may be that of the parent, which does not wait. */
static int begin(void *given)
{
	struct beginning *of = given;
	end_with_parent();
	trap();
	return of->function(of->argument);
}

int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	/* A few processes begin in this way; all others are copies of them. */
	static struct beginning all[64];
	static unsigned begun;
	static int (*next)(int (*)(void *), void *, int, void *, ...);
	struct beginning *of = &all[begun++ % 64];
	if (!next)
		next = (int (*)(int (*)(void *), void *, int, void *, ...))following("clone");
	*of = (struct beginning){ .function = function, .argument = argument };
	int process = next(begin, stack, flags, of);
	/* The first process that shares no memory with the kernel is the first of its users. The kernel's own process then
	 * traps, too, since changes of this setting at each change of process are slow, above all in a virtual machine;
	 * not earlier, since mkstemp, called at boot, reads the time by RDTSC. */
	static int trapping;
	if (!(flags & CLONE_VM) && !trapping) {
		trapping = 1;
		trap();
	}
	return process;
}

/* What the processor has, without its random numbers. */
static void cpuid(struct user_regs_struct *registers)
{
	uint32_t leaf = registers->rax, subleaf = registers->rcx, a, b, c, d;
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
	__cpuid_count(leaf, subleaf, a, b, c, d);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
	if (leaf == 1)
		c &= ~RDRAND;
	if (leaf == 7 && subleaf == 0)
		b &= ~RDSEED;
	registers->rax = a;
	registers->rbx = b;
	registers->rcx = c;
	registers->rdx = d;
}

/*
 * The code at an address: three bytes at least, with errno not 0 if they cannot be read. Words are read where they begin,
 * so that none is in two pages: the page behind an instruction may not be in memory yet.
 */
static uint64_t code_at(pid_t process, uint64_t address)
{
	unsigned skipped = address % 8;
	errno = 0;
	uint64_t code = (uint64_t)ptrace(PTRACE_PEEKTEXT, process, (void *)(address - skipped), NULL) >> 8 * skipped;
	if (errno || skipped <= 5)
		return code;
	uint64_t next = ptrace(PTRACE_PEEKTEXT, process, (void *)(address - skipped + 8), NULL);
	if (!errno)
		code |= next << (64 - 8 * skipped);
	/* An instruction of two bytes may end before that word. */
	errno = 0;
	return code;
}

/* Carry out the instruction that trapped; 0 if the instruction is another one. */
static int emulate(pid_t process)
{
	struct user_regs_struct registers;
	if (ptrace(PTRACE_GETREGS, process, NULL, &registers) < 0)
		return 0;
	uint64_t code = code_at(process, registers.rip);
	if (errno)
		return 0;
	int counter = (code & 0xffff) == 0x310f, counter_and_processor = (code & 0xffffff) == 0xf9010f;
	if (counter || counter_and_processor) {
		uint64_t value = airqueue_read_clock();
		registers.rax = value & 0xffffffff;
		registers.rdx = value >> 32;
		if (counter_and_processor)
			registers.rcx = 0;
	} else if ((code & 0xffff) == 0xa20f) {
		cpuid(&registers);
	} else {
		return 0;
	}
	registers.rip += counter_and_processor ? 3 : 2;
	return ptrace(PTRACE_SETREGS, process, NULL, &registers) == 0;
}

/* Whether a process has stopped for one of the instructions that are trapped, and has been resumed after it. */
static int went_on(pid_t process, int status)
{
	siginfo_t signal;
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSEGV || !resumes(resumed.request))
		return 0;
	if (ptrace(PTRACE_GETSIGINFO, process, NULL, &signal) < 0 || signal.si_code != SI_KERNEL)
		return 0;
	return emulate(process) && ptrace(resumed.request, process, resumed.address, NULL) == 0;
}

pid_t waitpid(pid_t process, int *status, int options)
{
	static pid_t (*next)(pid_t, int *, int);
	int own;
	int *found = status ? status : &own;
	if (!next)
		next = (pid_t (*)(pid_t, int *, int))following("waitpid");
	for (;;) {
		pid_t done = next(process, found, options);
		if (done <= 0 || !went_on(done, *found))
			return done;
	}
}
