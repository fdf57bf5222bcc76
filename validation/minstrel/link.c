/* A saturated link of 20 MHz under the kernel's Minstrel-HT, of 802.11n with two streams, of 802.11a or of 802.11b, or (s) one of
 * 802.11n with a packet of its own every 47 ms: link SEED [a|b|s] SNR_DB[:SECONDS]... Prints the goodput in each second, in
 * Mb/s, of the second with (s) in the time on the air alone. The link is that of
 * crates/airqueue-wifi/tests/wifi/minstrel_kernel.rs. */
#include "shim.h"
#include <math.h>
#include <stdio.h>

enum { MPDU_BITS = 1536 * 8 };

/* Rates in Mb/s, the signal in dB at which half of the MPDUs arrive at each of them, the MPDUs of a frame, and the pause before
 * the next frame. */
struct layer {
	double mbps[16], half_db[16];
	int mpdus;
	double pause_us;
};
#define MBPS_OF_N { 6.5, 13, 19.5, 26, 39, 52, 58.5, 65, 13, 26, 39, 52, 78, 104, 117, 130 }
#define HALF_DB_OF_N { 5, 8, 11, 14, 18, 22, 24, 26, 8, 11, 14, 17, 21, 25, 27, 29 }
static const struct layer N = { MBPS_OF_N, HALF_DB_OF_N, 16 };
static const struct layer S = { MBPS_OF_N, HALF_DB_OF_N, 1, 47e3 };
static const struct layer A = { { 6, 9, 12, 18, 24, 36, 48, 54 }, { 3, 5, 6, 9, 12, 16, 20, 22 }, 1 };
static const struct layer B = { { 1, 2, 5.5, 11 }, { 1, 3, 6, 9 }, 1 };
static const struct layer *layer = &N;

unsigned long jiffies = 1000;
static const struct rate_control_ops *minstrel;
static u64 state;

static double uniform(void)
{
	/* SplitMix64. */
	u64 z = state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return ((z ^ z >> 31) >> 11) * 0x1p-53;
}

void get_random_bytes(void *buffer, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((u8 *)buffer)[i] = 256 * uniform();
}

int ieee80211_rate_control_register(const struct rate_control_ops *ops)
{
	minstrel = ops;
	return 0;
}

void ieee80211_rate_control_unregister(const struct rate_control_ops *ops) {}

/* The steps of the signal, the present one and when it ends. */
static char **steps;
static int step = -1, step_count;
static double step_ends_us;

/* Whether the link has a signal at a time. Times rise. */
static bool has_signal(double now_us)
{
	while (now_us >= step_ends_us && step < step_count) {
		const char *seconds = ++step < step_count ? strchr(steps[step], ':') : NULL;
		step_ends_us += 1e6 * (seconds ? atof(seconds + 1) : 1);
	}
	return step < step_count;
}

/* The signal at a time; the last one stays. */
static double snr_db(double now_us)
{
	return atof(steps[has_signal(now_us) ? step : step_count - 1]);
}

/* A try: the time in us, and how many of the MPDUs arrive. */
static double try(int rate, int mpdus, double snr_db, int *arrived)
{
	double p = 1 / (1 + exp(layer->half_db[rate] - snr_db));
	*arrived = 0;
	for (int i = 0; i < mpdus; i++)
		*arrived += uniform() < p;
	return 200 + mpdus * MPDU_BITS / layer->mbps[rate];
}

int main(int count, char **words)
{
	state = strtoull(words[1], NULL, 10);
	int first = 2;
	if (count > 2 && strchr("abs", *words[2])) {
		char name = *words[first++];
		layer = name == 'a' ? &A : name == 'b' ? &B : &S;
	}
	steps = words + first;
	step_count = count - first;
	bool is_new = layer == &N || layer == &S;
	/* 5 GHz with the rates of OFDM, or 2.4 GHz with those of 802.11b. */
	static struct ieee80211_rate ofdm[] = { { 0, 60 }, { 0, 90 }, { 0, 120 }, { 0, 180 }, { 0, 240 }, { 0, 360 }, { 0, 480 },
						{ 0, 540 } };
	static struct ieee80211_rate dsss[] = { { 0, 10 }, { 0, 20 }, { 0, 55 }, { 0, 110 } };
	static struct ieee80211_supported_band bands[] = { { NL80211_BAND_2GHZ, dsss, 4 }, { NL80211_BAND_5GHZ, ofdm, 8 } };
	struct ieee80211_supported_band *band = &bands[layer != &B];
	static struct wiphy wiphy;
	wiphy.bands[band->band] = band;
	static struct ieee80211_hw hw = { .wiphy = &wiphy, .max_rates = 4, .max_rate_tries = 7 };
	static struct sta_info info;
	struct ieee80211_sta *sta = &info.sta;
	sta->deflink.ht_cap.ht_supported = is_new;
	if (is_new)
		sta->deflink.ht_cap.mcs.rx_mask[0] = sta->deflink.ht_cap.mcs.rx_mask[1] = 0xff;
	rc80211_minstrel_init();
	void *priv = minstrel->alloc(&hw);
	void *station = minstrel->alloc_sta(priv, sta, 0);
	minstrel->rate_init(priv, band, &hw.conf.chandef, sta, station);

	double now_us = 0, second_ends_us = 1e6, on_air_us = 0;
	long delivered = 0;
	while (has_signal(now_us)) {
		jiffies = 1000 + (unsigned long)(now_us / 1000);
		struct sk_buff skb = { 0 };
		struct ieee80211_tx_rate_control asked = { .skb = &skb };
		for (int i = 0; i < IEEE80211_TX_MAX_RATES; i++)
			skb.info.status.rates[i].idx = -1;
		minstrel->get_rate(priv, sta, station, &asked);
		/* A probe is a single MPDU, as in the kernel's drivers: one try, then the fallback rates. */
		bool probe = skb.info.flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE;
		double begun_us = now_us;
		int mpdus = probe ? 1 : layer->mpdus, arrived = 0, used = 0;
		struct ieee80211_tx_rate *tried = skb.info.status.rates;
		for (int stage = 0; stage < IEEE80211_TX_MAX_RATES && !arrived; stage++) {
			if (!probe || stage > 0) {
				tried[stage].idx = sta->rates->rate[stage].idx;
				tried[stage].flags = sta->rates->rate[stage].flags;
				tried[stage].count = sta->rates->rate[stage].count;
			}
			if (tried[stage].idx < 0)
				break;
			int most = tried[stage].count;
			tried[stage].count = 0;
			for (int i = 0; i < most && !arrived; i++) {
				tried[stage].count++;
				now_us += try(tried[stage].idx, mpdus, snr_db(now_us), &arrived);
			}
			used = stage + 1;
		}
		if (used < IEEE80211_TX_MAX_RATES)
			tried[used].idx = -1;
		delivered += arrived;
		skb.info.flags |= (probe || layer->mpdus == 1 ? 0 : IEEE80211_TX_CTL_AMPDU | IEEE80211_TX_STAT_AMPDU) |
				  (arrived ? IEEE80211_TX_STAT_ACK : 0);
		skb.info.status.ampdu_len = mpdus;
		skb.info.status.ampdu_ack_len = arrived;
		jiffies = 1000 + (unsigned long)(now_us / 1000);
		struct ieee80211_tx_status status = { .info = &skb.info };
		minstrel->tx_status_ext(priv, band, station, &status);
		on_air_us += now_us - begun_us;
		now_us += layer->pause_us;
		while (now_us >= second_ends_us) {
			printf("%.3f\n", delivered * (double)MPDU_BITS / (layer->pause_us ? on_air_us : 1e6));
			delivered = on_air_us = 0;
			second_ends_us += 1e6;
		}
	}
	return 0;
}
