/* Registers of user-mode Linux's processes on processors with AMX, to be preloaded.
 *
 * User-mode Linux 6.1 keeps 2696 bytes of a process's floating-point state. With AMX the state has 11008 bytes, and the
 * host refuses a PTRACE_SETREGSET of NT_X86_XSTATE that is not the whole of it (`xstateregs_set`): no process would
 * ever start. What user-mode Linux does not know of is therefore read from the process and written back unchanged.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* Room for any state that a processor has today. */
enum { MOST_BYTES = 1 << 14 };

typedef long (*call)(enum __ptrace_request, pid_t, void *, void *);

/* The same request with the state in its whole length. */
static long set_whole(call next, pid_t process, void *kind, const struct iovec *given)
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

long ptrace(enum __ptrace_request request, ...)
{
	static call next;
	va_list arguments;
	va_start(arguments, request);
	pid_t process = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);
	if (!next)
		next = (call)dlsym(RTLD_NEXT, "ptrace");
	long done = next(request, process, address, data);
	int state = request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE;
	if (done < 0 && errno == EFAULT && state)
		return set_whole(next, process, address, data);
	return done;
}
