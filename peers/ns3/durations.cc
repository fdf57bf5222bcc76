// Durations of 802.11n, ac and ax frames as ns-3 counts them: what
// crates/airqueue-wifi/tests/data/ns3_durations.csv was written with.
//
// A row has a mode, its duration at 1538 bytes, and the first size from 20 000 bytes on that takes
// a symbol more than the size below, with both durations: where a frame begins another symbol tells
// the bits around the PSDU and those of a symbol exactly. Times in ns. Build it as
// peers/install.py builds cell.cc, with the modules core, network and wifi.

#include "ns3/core-module.h"
#include "ns3/wifi-module.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

struct Format
{
    const char* name;
    WifiPreamble preamble;
    int mcs;
    std::vector<int> widths;
};

const Format HT{"HT", WIFI_PREAMBLE_HT_MF, 8, {20, 40}};
const Format VHT{"VHT", WIFI_PREAMBLE_VHT_SU, 10, {20, 40, 80, 160}};
const Format HE{"HE", WIFI_PREAMBLE_HE_SU, 12, {20, 40, 80, 160}};

// Leaves out what IEEE 802.11-2016, 21.5 leaves out, some of which ns-3 has all the same; and MCS 9
// of six streams at 20 MHz, which ns-3 has not.
bool
Exists(const Format& format, int mcs, int width, int streams)
{
    if (format.preamble != WIFI_PREAMBLE_VHT_SU)
    {
        return true;
    }
    return !((width == 20 && mcs == 9 && streams != 3) ||
             (width == 80 && mcs == 6 && (streams == 3 || streams == 7)) ||
             (width == 80 && mcs == 9 && streams == 6) ||
             (width == 160 && mcs == 9 && streams == 3));
}

WifiMode
Mode(const Format& format, int mcs, int streams)
{
    switch (format.preamble)
    {
    case WIFI_PREAMBLE_HT_MF:
        return HtPhy::GetHtMcs(8 * (streams - 1) + mcs);
    case WIFI_PREAMBLE_VHT_SU:
        return VhtPhy::GetVhtMcs(mcs);
    default:
        return HePhy::GetHeMcs(mcs);
    }
}

void
Row(const Format& format, WifiPhyBand band, int mcs, int streams, int width, int guard)
{
    if (!Exists(format, mcs, width, streams))
    {
        return;
    }
    WifiTxVector vector(Mode(format, mcs, streams),
                        0,
                        format.preamble,
                        NanoSeconds(guard),
                        streams,
                        streams,
                        0,
                        MHz_u(width),
                        false);
    auto ns = [&](uint32_t bytes) {
        return static_cast<long long>(
            WifiPhy::CalculateTxDuration(bytes, vector, band).GetNanoSeconds());
    };
    uint32_t step = 20000;
    while (ns(step) == ns(step - 1))
    {
        ++step;
    }
    std::printf("%s,%s,%d,%d,%d,%d,%lld,%u,%lld,%lld\n",
                format.name,
                band == WIFI_PHY_BAND_2_4GHZ ? "2.4" : "5",
                mcs,
                streams,
                width,
                guard,
                ns(1538),
                step,
                ns(step - 1),
                ns(step));
}

void
Rows(const Format& format, WifiPhyBand band, std::vector<int> guards, std::vector<int> streams)
{
    for (int width : format.widths)
    {
        if (band == WIFI_PHY_BAND_2_4GHZ && width > 40)
        {
            continue;
        }
        for (int guard : guards)
        {
            for (int count : streams)
            {
                for (int mcs = 0; mcs < format.mcs; ++mcs)
                {
                    Row(format, band, mcs, count, width, guard);
                }
            }
        }
    }
}

} // namespace

int
main()
{
    std::printf("# ns-%s, WifiPhy::CalculateTxDuration\n", NS3_VERSION);
    std::puts("format,band_ghz,mcs,streams,width_mhz,guard_ns,ns_at_1538,step_bytes,ns_below,"
              "ns_at_step");
    const auto ghz5 = WIFI_PHY_BAND_5GHZ;
    const auto ghz2 = WIFI_PHY_BAND_2_4GHZ;
    Rows(HT, ghz5, {800, 400}, {1, 2, 3, 4});
    Rows(HT, ghz2, {800, 400}, {1});
    Rows(VHT, ghz5, {800}, {1, 2, 3, 4, 5, 6, 7, 8});
    Rows(VHT, ghz5, {400}, {1, 5});
    Rows(HE, ghz5, {800}, {1, 2, 3, 8});
    Rows(HE, ghz5, {1600, 3200}, {1, 4});
    Rows(HE, ghz2, {800}, {1});
    return 0;
}
