/* What the kernel's Minstrel-HT (net/mac80211/rc80211_minstrel_ht.c) uses of the rest of the kernel, with the kernel's names,
 * so that the file compiles into a program. Times are jiffies of 1 ms. */
#ifndef SHIM_H
#define SHIM_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16, __le16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int gfp_t;

#define HZ 1000
extern unsigned long jiffies;
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_is_after_jiffies(a) time_after(a, jiffies)

#define U32_MAX UINT32_MAX
#define U16_MAX UINT16_MAX
#define BIT(n) (1UL << (n))
#define GENMASK(high, low) ((~0UL << (low)) & (~0UL >> (63 - (high))))
#define FIELD_PREP(mask, value) (((unsigned long)(value) << __builtin_ctzl(mask)) & (mask))
#define FIELD_GET(mask, value) (((value) & (mask)) >> __builtin_ctzl(mask))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define likely(x) (x)
#define unlikely(x) (x)
#define WARN_ON(x) (x)
#define BUILD_BUG_ON(x) _Static_assert(!(x), "BUILD_BUG_ON")
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define __read_mostly
#define __init
#define module_param(name, type, mode)
#define MODULE_PARM_DESC(name, text)
#define S_IRUGO 0
#define GFP_ATOMIC 0
#define kzalloc(size, flags) calloc(1, size)
#define kfree free
#define cpu_to_le16(x) ((u16)(x))
#define le16_to_cpu(x) (x)
void get_random_bytes(void *buffer, size_t bytes);

enum nl80211_band { NL80211_BAND_2GHZ, NL80211_BAND_5GHZ, NUM_NL80211_BANDS };
enum { IEEE80211_STA_RX_BW_20, IEEE80211_STA_RX_BW_40, IEEE80211_STA_RX_BW_80 };
enum { IEEE80211_SMPS_STATIC = 2, IEEE80211_SMPS_DYNAMIC };
enum { IEEE80211_VHT_MCS_SUPPORT_0_7, IEEE80211_VHT_MCS_SUPPORT_0_8, IEEE80211_VHT_MCS_SUPPORT_0_9 };
enum {
	IEEE80211_TX_RC_USE_RTS_CTS = 1, IEEE80211_TX_RC_USE_SHORT_PREAMBLE = 4, IEEE80211_TX_RC_MCS = 8,
	IEEE80211_TX_RC_40_MHZ_WIDTH = 32, IEEE80211_TX_RC_SHORT_GI = 128, IEEE80211_TX_RC_VHT_MCS = 256,
	IEEE80211_TX_RC_80_MHZ_WIDTH = 512, IEEE80211_TX_RC_160_MHZ_WIDTH = 1024
};
enum {
	IEEE80211_TX_CTL_NO_ACK = 4, IEEE80211_TX_CTL_AMPDU = 64, IEEE80211_TX_STAT_ACK = 512,
	IEEE80211_TX_STAT_AMPDU = 1024, IEEE80211_TX_CTL_RATE_CTRL_PROBE = 4096, IEEE80211_TX_CTL_LDPC = 1 << 22
};
#define IEEE80211_TX_CTL_STBC_SHIFT 23
#define IEEE80211_TX_CTRL_PORT_CTRL_PROTO 1
#define IEEE80211_TX_MAX_RATES 4
#define IEEE80211_TX_RATE_TABLE_SIZE 4
#define IEEE80211_MAX_MPDU_LEN_HT_BA 4095
#define IEEE80211_HT_CAP_RX_STBC 0x300
#define IEEE80211_HT_CAP_RX_STBC_SHIFT 8
#define IEEE80211_HT_CAP_LDPC_CODING 1
#define IEEE80211_HT_CAP_SGI_20 0x20
#define IEEE80211_HT_CAP_SGI_40 0x40
#define IEEE80211_VHT_CAP_RXSTBC_MASK 0x700
#define IEEE80211_VHT_CAP_RXSTBC_SHIFT 8
#define IEEE80211_VHT_CAP_RXLDPC 0x10
#define IEEE80211_VHT_CAP_SHORT_GI_80 0x20
#define IEEE80211_RATE_SHORT_PREAMBLE 1
#define IEEE80211_RATE_ERP_G 16
#define RATE_INFO_FLAGS_MCS 1
#define RATE_INFO_FLAGS_VHT_MCS 2
#define RATE_INFO_FLAGS_SHORT_GI 4
#define RATE_INFO_BW_40 2
#define RATE_INFO_BW_80 3
#define RATE_CTRL_CAPA_AMPDU_TRIGGER 2
#define WLAN_STA_SHORT_PREAMBLE 0

struct dentry;
struct cfg80211_chan_def { int unused; };
struct ieee80211_rate { u32 flags; u16 bitrate; };
struct ieee80211_supported_band { enum nl80211_band band; struct ieee80211_rate *bitrates; int n_bitrates; };
struct wiphy { struct ieee80211_supported_band *bands[NUM_NL80211_BANDS]; };
struct ieee80211_hw {
	struct { struct cfg80211_chan_def chandef; } conf;
	struct wiphy *wiphy;
	u8 max_rates, max_rate_tries;
};
#define ieee80211_hw_check(hw, flag) 0

struct ieee80211_mcs_info { u8 rx_mask[10]; };
struct ieee80211_sta_vht_cap { bool vht_supported; u32 cap; struct { __le16 tx_mcs_map; } vht_mcs; };
struct ieee80211_sta_rates { struct { s8 idx; u8 count, count_cts, count_rts; u16 flags; } rate[4]; };
struct ieee80211_sta {
	struct {
		struct { bool ht_supported; u16 cap; struct ieee80211_mcs_info mcs; } ht_cap;
		struct ieee80211_sta_vht_cap vht_cap;
		int bandwidth, smps_mode;
		struct { u16 max_rc_amsdu_len; } agg;
	} deflink;
	struct ieee80211_sta_rates *rates;
};
struct sta_info {
	struct ieee80211_sta sta;
	struct { struct { struct { bool use_short_preamble; } bss_conf; } vif; } *sdata;
};
#define test_sta_flag(info, flag) 0

struct rate_info { u8 flags, mcs, nss, bw; u16 legacy; };
struct ieee80211_rate_status { struct rate_info rate_idx; u8 try_count; };
struct ieee80211_tx_rate { s8 idx; u16 count : 5, flags : 11; };
struct ieee80211_tx_info {
	u32 flags;
	struct { u32 flags; } control;
	struct { struct ieee80211_tx_rate rates[IEEE80211_TX_MAX_RATES]; u8 ampdu_ack_len, ampdu_len; } status;
};
struct sk_buff { struct ieee80211_tx_info info; };
#define IEEE80211_SKB_CB(skb) (&(skb)->info)
struct ieee80211_tx_rate_control { struct sk_buff *skb; bool short_preamble; };
struct ieee80211_tx_status { struct ieee80211_tx_info *info; struct ieee80211_rate_status *rates; u8 n_rates; };

struct rate_control_ops {
	const char *name;
	unsigned long capa;
	void *(*alloc)(struct ieee80211_hw *hw);
	void (*free)(void *priv);
	void *(*alloc_sta)(void *priv, struct ieee80211_sta *sta, gfp_t gfp);
	void (*rate_init)(void *priv, struct ieee80211_supported_band *, struct cfg80211_chan_def *, struct ieee80211_sta *,
			  void *priv_sta);
	void (*rate_update)(void *priv, struct ieee80211_supported_band *, struct cfg80211_chan_def *,
			    struct ieee80211_sta *, void *priv_sta, u32 changed);
	void (*free_sta)(void *priv, struct ieee80211_sta *sta, void *priv_sta);
	void (*tx_status_ext)(void *priv, struct ieee80211_supported_band *, void *priv_sta, struct ieee80211_tx_status *);
	void (*get_rate)(void *priv, struct ieee80211_sta *sta, void *priv_sta, struct ieee80211_tx_rate_control *);
	u32 (*get_expected_throughput)(void *priv_sta);
};

int ieee80211_rate_control_register(const struct rate_control_ops *ops);
void ieee80211_rate_control_unregister(const struct rate_control_ops *ops);
int rc80211_minstrel_init(void);
void rc80211_minstrel_exit(void);

/* With SIFS. Of an OFDM frame: preamble and SIGNAL of 20 us, symbols of 4 us with service and tail bits; of a DSSS frame: a
 * preamble of 96 or 192 us. `rate` in 100 kb/s. */
static inline int ieee80211_frame_duration(int band, size_t bytes, int rate, int erp, int short_preamble, int shift)
{
	if (band == NL80211_BAND_2GHZ && !erp)
		return 10 + (short_preamble ? 96 : 192) + DIV_ROUND_UP(80 * ((int)bytes + 4), rate);
	return 16 + 20 + 4 * DIV_ROUND_UP((16 + 8 * ((int)bytes + 4) + 6) * 10, 4 * rate);
}

static inline void rate_control_set_rates(struct ieee80211_hw *hw, struct ieee80211_sta *sta,
					  struct ieee80211_sta_rates *rates)
{
	free(sta->rates);
	sta->rates = rates;
}
#define ieee80211_sta_recalc_aggregates(sta)
#define rate_supported(sta, band, index) 1
#define rate_lowest_index(sband, sta) 0
#define ieee80211_chandef_get_shift(chandef) 0
#define ieee80211_chandef_rate_flags(chandef) 0
#define ieee80211_rate_get_vht_mcs(rate) ((rate)->idx & 15)
#define ieee80211_rate_get_vht_nss(rate) (((rate)->idx >> 4) + 1)
#define ieee80211_rate_set_vht(rate, mcs, nss) ((rate)->idx = (((nss) - 1) << 4) | (mcs))
#endif
