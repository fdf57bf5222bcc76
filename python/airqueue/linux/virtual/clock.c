/* A virtual clock for user-mode Linux, to be preloaded.
 *
 * The kernel takes its time from clock_gettime and arms one POSIX timer; when nothing is to be done it
 * waits for that timer in sigsuspend. Here time stands still while anything runs and leaps to the timer when the
 * kernel waits for it: an hour passes as fast as the machine computes it, no wake-up is ever late, and a
 * busy machine changes nothing. (Kernels built with CONFIG_UML_TIME_TRAVEL_SUPPORT do the same by themselves;
 * Debian's is not.)
 *
 * Each reading of a clock costs a nanosecond. After many readings without a leap each costs a microsecond, and so does each
 * entry into the kernel after many more of these, so that a loop that waits for the time or for a packet comes to an end.
 * What the kernel gets as randomness comes from a generator that AIRQUEUE_SEED seeds. The host's addresses are not random
 * either: the kernel mixes the address of interrupted code into its own random numbers.
 * AIRQUEUE_DATE is the date at which the clock of the day begins, in seconds since 1970. The file AIRQUEUE_CLOCK, of eight
 * bytes, shows the time since the kernel began to whoever maps the file too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000 };
/* Far more than a kernel, or programs that begin, need for all that they do at one instant. */
enum { MANY_READINGS = 20000, MANY_ENTRIES = 200000, COST_OF_WAITING = 1000 };

static int64_t unseen;
/* The kernel is one thread in all that concerns time; its helpers read no clock. */
static volatile int64_t *now = &unseen;
static volatile int64_t expiry; /* 0: not armed */
static volatile int64_t period;
static uint64_t readings, entries; /* since the last leap */
static int64_t date;

static int64_t nanoseconds(const struct timespec *t)
{
	return (int64_t)t->tv_sec * SECOND + t->tv_nsec;
}

static struct timespec timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
}

/* Start again where addresses are the same each time, and show the time. */
__attribute__((constructor)) static void prepare(int count, char **arguments)
{
	(void)count;
	int persona = personality(0xffffffff);
	if (persona >= 0 && !(persona & ADDR_NO_RANDOMIZE) &&
	    personality(persona | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", arguments);
	const char *began = getenv("AIRQUEUE_DATE"), *path = getenv("AIRQUEUE_CLOCK");
	date = began ? strtoll(began, NULL, 10) * SECOND : 0;
	int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (file >= 0) {
		void *shown = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (shown != MAP_FAILED)
			now = shown;
		close(file);
	}
	*now = SECOND;
}

/* The timer goes off. The signal waits as long as the kernel has it blocked. */
static void expire(void)
{
	expiry = period ? *now + period : 0;
	kill(getpid(), SIGALRM);
}

static void pass(int64_t ns)
{
	*now += ns;
	if (expiry && *now >= expiry)
		expire();
}

/* A reading of the clock, in nanoseconds; of the processor's counter of time, too. */
int64_t airqueue_read_clock(void)
{
	pass(++readings > MANY_READINGS ? COST_OF_WAITING : 1);
	return *now;
}

/* A process goes on after an entry into the kernel. */
void airqueue_go_on(void)
{
	if (++entries > MANY_ENTRIES)
		pass(COST_OF_WAITING);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t since = airqueue_read_clock();
	*t = timespec(clock == CLOCK_REALTIME ? date + since : since);
	return 0;
}

int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	(void)clock, (void)event;
	*timer = (timer_t)1;
	return 0;
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	(void)timer, (void)flags, (void)old;
	int64_t in = nanoseconds(&new->it_value);
	period = nanoseconds(&new->it_interval);
	expiry = in ? *now + in : 0;
	return 0;
}

int timer_gettime(timer_t timer, struct itimerspec *value)
{
	(void)timer;
	value->it_value = timespec(expiry ? expiry - *now : 0);
	value->it_interval = timespec(period);
	return 0;
}

int sigsuspend(const sigset_t *mask)
{
	static int (*wait)(const sigset_t *);
	if (!wait)
		wait = (int (*)(const sigset_t *))dlsym(RTLD_NEXT, "sigsuspend");
	if (expiry) {
		if (*now < expiry)
			*now = expiry;
		readings = entries = 0;
		expire();
	}
	return wait(mask);
}

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	static uint64_t state;
	(void)flags;
	if (!state)
		state = strtoull(getenv("AIRQUEUE_SEED") ?: "1", NULL, 10) * 0xd1342543de82ef95u | 1;
	for (size_t i = 0; i < length; i++) {
		uint64_t x = state += 0x9e3779b97f4a7c15u;
		x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
		x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
		((uint8_t *)buffer)[i] = (uint8_t)(x ^ (x >> 31));
	}
	return (ssize_t)length;
}
