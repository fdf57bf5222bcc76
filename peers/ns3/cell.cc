// One saturated single-receiver cell of 802.11b, a, g, n, ac or ax in ns-3; prints one line of JSON.
//
// Ad hoc MAC without beacons, static ARP, no queue discipline. Stations stand 1 m from the receiver,
// on a circle or all at one point. The receiver hears all with equal power in both. Bystanders do so
// at one point only: there nobody detects the preamble of a collision and all wait DIFS after it; on
// the circle some hear one frame well enough above the other, detect it, and wait EIFS.
//
// Without --edca all stations use DCF. With it there are QoS stations, one for each colon-separated
// AIFSN:CWMIN:CWMAX:TXOP_US, themselves separated by commas.
//
// From 802.11n on (5 GHz) stations aggregate and contend as EDCA's best effort, but for the first
// --old-stations: those know 802.11a alone. Builds against ns-3.37 and ns-3.44.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t IP_UDP_HEADER_BYTES = 28;
constexpr uint16_t FIRST_PORT = 9000;
// Each queue is refilled this often to more than a station could send meanwhile.
constexpr double REFILL_S = 0.05;
// No scheme of 802.11n, ac and ax carries more in a MHz and spatial stream.
constexpr double MOST_MBPS_PER_MHZ = 8.0;

struct Edca
{
    uint8_t aifsn;
    uint32_t cwMin;
    uint32_t cwMax;
    int64_t txopUs;
};

struct Options
{
    std::string standard{"b"};
    uint32_t stations{1};
    uint32_t ipBytes{1500};
    std::string dataMbps{"11"};
    std::string controlMbps{"1"};
    std::string preamble{"long"};
    bool rts{false};
    std::string layout{"circle"};
    double seconds{30};
    double warmUp{2};
    uint32_t seed{1};
    std::string edca;
    std::vector<Edca> classes;
    // From 802.11n on; the data rate above is then that of old stations.
    uint32_t oldStations{0};
    uint32_t mcs{0};
    uint32_t width{20};
    uint32_t streams{1};
    uint32_t guardNs{800};
    uint32_t ampduBytes{65535};
    uint32_t window{64};
    bool explicitBar{true};
    double mpduLoss{0};

    bool Aggregates() const
    {
        return standard == "n" || standard == "ac" || standard == "ax";
    }
};

// What happened since the end of the warm-up.
struct Counters
{
    std::vector<uint64_t> packets;
    uint64_t attempts{0};
    uint64_t failed{0};
};

struct Cell
{
    NodeContainer nodes; // the receiver is the last
    NetDeviceContainer devices;
    Ipv4InterfaceContainer addresses;
    std::vector<Ptr<Socket>> sources;
    std::vector<Ptr<Socket>> sinks;
};

std::vector<Edca>
ParseEdca(const std::string& text)
{
    std::vector<Edca> classes;
    std::istringstream stations(text);
    for (std::string station; std::getline(stations, station, ',');)
    {
        unsigned aifsn;
        unsigned cwMin;
        unsigned cwMax;
        long txopUs;
        char end;
        if (std::sscanf(station.c_str(), "%u:%u:%u:%ld%c", &aifsn, &cwMin, &cwMax, &txopUs, &end) != 4)
        {
            NS_FATAL_ERROR("--edca: expected AIFSN:CWMIN:CWMAX:TXOP_US, got " << station);
        }
        if (txopUs % 32 != 0)
        {
            NS_FATAL_ERROR("--edca: a TXOP limit is a multiple of 32 us, got " << txopUs);
        }
        classes.push_back({static_cast<uint8_t>(aifsn), cwMin, cwMax, txopUs});
    }
    return classes;
}

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine command(__FILE__);
    command.AddValue("standard", "b, a, g (ERP only, short slot), n, ac or ax", options.standard);
    command.AddValue("stations", "senders", options.stations);
    command.AddValue("ip-bytes", "IP packet with its headers", options.ipBytes);
    command.AddValue("data-mbps", "data rate", options.dataMbps);
    command.AddValue("control-mbps", "rate of RTS, CTS and ACK", options.controlMbps);
    command.AddValue("preamble", "long or short, of 802.11b", options.preamble);
    command.AddValue("rts", "RTS/CTS before every packet", options.rts);
    command.AddValue("layout", "circle or point, where the stations stand", options.layout);
    command.AddValue("seconds", "measured time", options.seconds);
    command.AddValue("warm-up", "time before it, s", options.warmUp);
    command.AddValue("seed", "run number", options.seed);
    command.AddValue("edca", "AIFSN:CWMIN:CWMAX:TXOP_US of each station", options.edca);
    command.AddValue("old-stations", "how many stations know 802.11a alone", options.oldStations);
    command.AddValue("mcs", "scheme of 802.11n, ac or ax", options.mcs);
    command.AddValue("width", "MHz", options.width);
    command.AddValue("streams", "spatial streams", options.streams);
    command.AddValue("guard-ns", "guard interval", options.guardNs);
    command.AddValue("ampdu-bytes", "longest A-MPDU", options.ampduBytes);
    command.AddValue("window", "MPDUs under one block ack", options.window);
    command.AddValue("explicit-bar", "a BlockAckReq follows a missed BlockAck", options.explicitBar);
    command.AddValue("mpdu-loss", "probability, at every station", options.mpduLoss);
    command.Parse(argc, argv);
    options.classes = ParseEdca(options.edca);
    if (!options.classes.empty())
    {
        options.stations = options.classes.size();
    }
    return options;
}

// The name that ns-3 gives to a rate: DsssRate5_5Mbps, OfdmRate54Mbps, ErpOfdmRate54Mbps.
std::string
ModeName(const std::string& standard, std::string mbps)
{
    if (auto point = mbps.find('.'); point != std::string::npos)
    {
        mbps[point] = '_';
    }
    const std::string family = standard == "b" ? "Dsss" : standard == "g" ? "ErpOfdm" : "Ofdm";
    return family + "Rate" + mbps + "Mbps";
}

// HtMcs7, VhtMcs9, HeMcs11.
std::string
SchemeName(const Options& options)
{
    const std::map<std::string, std::string> families{{"n", "Ht"}, {"ac", "Vht"}, {"ax", "He"}};
    return families.at(options.standard) + "Mcs" + std::to_string(options.mcs);
}

void
SetDefaults(const Options& options)
{
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(options.seed);
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold",
                       UintegerValue(options.rts ? 0 : 4692480));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("100000p"));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Hours(24)));
    if (!options.Aggregates())
    {
        return;
    }
    Config::SetDefault("ns3::WifiMac::BE_MaxAmpduSize", UintegerValue(options.ampduBytes));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck",
                       BooleanValue(options.explicitBar));
    Config::SetDefault("ns3::HtConfiguration::ShortGuardIntervalSupported",
                       BooleanValue(options.guardNs == 400));
    const auto heGuard = TimeValue(NanoSeconds(std::max(800U, options.guardNs)));
    Config::SetDefault("ns3::HeConfiguration::GuardInterval", heGuard);
    // Where it is in 3.44 and in 3.37.
    const UintegerValue window(options.window);
    Config::SetDefaultFailSafe("ns3::WifiMac::MpduBufferSize", window) ||
        Config::SetDefaultFailSafe("ns3::HeConfiguration::MpduBufferSize", window);
}

// Makes `control` the only basic rate. On meeting a station for the first time the ad hoc MAC would add
// every mandatory rate, and ACKs of 802.11b would go out at 11 Mb/s; so it has met all of them before.
void
SetBasicMode(Ptr<WifiNetDevice> device, const NetDeviceContainer& devices, WifiMode control)
{
    auto manager = device->GetRemoteStationManager();
    for (uint32_t i = 0; i < devices.GetN(); ++i)
    {
        const auto peer = Mac48Address::ConvertFrom(devices.Get(i)->GetAddress());
        for (const auto& mode : device->GetPhy()->GetModeList())
        {
            manager->AddSupportedMode(peer, mode);
        }
        manager->RecordDisassociated(peer);
    }
    manager->AddBasicMode(control);
}

NetDeviceContainer
Install(const Options& options,
        const std::string& standard,
        Ptr<YansWifiChannel> channel,
        const NodeContainer& nodes)
{
    const std::map<std::string, WifiStandard> standards{{"b", WIFI_STANDARD_80211b},
                                                        {"a", WIFI_STANDARD_80211a},
                                                        {"g", WIFI_STANDARD_80211g},
                                                        {"n", WIFI_STANDARD_80211n},
                                                        {"ac", WIFI_STANDARD_80211ac},
                                                        {"ax", WIFI_STANDARD_80211ax}};
    const bool aggregates = options.Aggregates() && standard == options.standard;
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    if (aggregates)
    {
        const UintegerValue streams(options.streams);
        const std::string width = std::to_string(options.width);
        phy.Set("ChannelSettings", StringValue("{0, " + width + ", BAND_5GHZ, 0}"));
        phy.Set("Antennas", streams);
        phy.Set("MaxSupportedTxSpatialStreams", streams);
        phy.Set("MaxSupportedRxSpatialStreams", streams);
    }
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac",
                "QosSupported",
                BooleanValue(aggregates || !options.classes.empty()));
    WifiHelper wifi;
    wifi.SetStandard(standards.at(standard));
    wifi.SetRemoteStationManager(
        "ns3::ConstantRateWifiManager",
        "DataMode",
        StringValue(aggregates ? SchemeName(options) : ModeName(standard, options.dataMbps)),
        "ControlMode",
        StringValue(ModeName(standard, options.controlMbps)));
    return wifi.Install(phy, mac, nodes);
}

void
InstallDevices(Cell& cell, const Options& options)
{
    auto channel = YansWifiChannelHelper::Default().Create();
    NodeContainer old;
    NodeContainer others;
    for (uint32_t i = 0; i < cell.nodes.GetN(); ++i)
    {
        (i < options.oldStations ? old : others).Add(cell.nodes.Get(i));
    }
    if (old.GetN() > 0)
    {
        cell.devices.Add(Install(options, "a", channel, old));
    }
    cell.devices.Add(Install(options, options.standard, channel, others));
}

void
ConfigureDevices(const Cell& cell, const Options& options)
{
    const WifiMode control(ModeName(options.standard, options.controlMbps));
    for (uint32_t i = 0; i < cell.devices.GetN(); ++i)
    {
        auto device = DynamicCast<WifiNetDevice>(cell.devices.Get(i));
        // What the ad hoc MAC makes of a stranger is needed from 802.11n on: what it can do.
        if (!options.Aggregates())
        {
            SetBasicMode(device, cell.devices, control);
        }
        device->GetRemoteStationManager()->SetShortPreambleEnabled(options.preamble == "short");
        if (options.standard == "g")
        {
            device->GetPhy()->SetSlot(MicroSeconds(9));
        }
        if (options.mpduLoss > 0)
        {
            auto losses = CreateObject<RateErrorModel>();
            losses->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
            losses->SetRate(options.mpduLoss);
            // Where an answer to ADDBA frames is lost, ns-3 may block a queue for good.
            losses->Disable();
            Simulator::Schedule(Seconds(options.warmUp / 2), &ErrorModel::Enable, losses);
            device->GetPhy()->SetPostReceptionErrorModel(losses);
        }
    }
    for (std::size_t i = 0; i < options.classes.size(); ++i)
    {
        const Edca& edca = options.classes[i];
        auto txop = DynamicCast<WifiNetDevice>(cell.devices.Get(i))->GetMac()->GetQosTxop(AC_BE);
        txop->SetAifsn(edca.aifsn);
        txop->SetMinCw(edca.cwMin);
        txop->SetMaxCw(edca.cwMax);
        txop->SetTxopLimit(MicroSeconds(edca.txopUs));
    }
}

void
Place(Cell& cell, const Options& options)
{
    auto positions = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < options.stations; ++i)
    {
        const double angle = options.layout == "circle" ? 2 * M_PI * i / options.stations : 0;
        positions->Add(Vector(std::cos(angle), std::sin(angle), 0));
    }
    positions->Add(Vector(0, 0, 0));
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(cell.nodes);
}

void
InstallStack(Cell& cell)
{
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(cell.nodes);
    Ipv4AddressHelper ip("10.0.0.0", "255.255.0.0");
    cell.addresses = ip.Assign(cell.devices);
    // Assign() has put FqCoDel in front of every device.
    TrafficControlHelper().Uninstall(cell.devices);
    const uint32_t receiver = cell.nodes.GetN() - 1;
    for (uint32_t i = 0; i < receiver; ++i)
    {
        auto ipv4 = cell.nodes.Get(i)->GetObject<Ipv4L3Protocol>();
        auto interface = ipv4->GetInterface(ipv4->GetInterfaceForDevice(cell.devices.Get(i)));
        auto entry = interface->GetArpCache()->Add(cell.addresses.GetAddress(receiver));
        entry->SetMacAddress(cell.devices.Get(receiver)->GetAddress());
        entry->MarkPermanent();
    }
}

void
Receive(Counters* counters, std::size_t station, Ptr<Socket> socket)
{
    while (socket->Recv())
    {
        ++counters->packets[station];
    }
}

void
ConnectSockets(Cell& cell, Counters& counters)
{
    const auto udp = UdpSocketFactory::GetTypeId();
    const uint32_t stations = cell.nodes.GetN() - 1;
    for (uint32_t i = 0; i < stations; ++i)
    {
        auto sink = Socket::CreateSocket(cell.nodes.Get(stations), udp);
        sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), FIRST_PORT + i));
        sink->SetRecvCallback(MakeBoundCallback(&Receive, &counters, std::size_t{i}));
        auto source = Socket::CreateSocket(cell.nodes.Get(i), udp);
        source->Connect(InetSocketAddress(cell.addresses.GetAddress(stations), FIRST_PORT + i));
        cell.sinks.push_back(sink);
        cell.sources.push_back(source);
    }
}

// An attempt is the first frame of an exchange: with RTS always one.
void
Began(Counters* counters, bool rts, WifiConstPsduMap psdus, WifiTxVector, double)
{
    const auto& header = psdus.begin()->second->GetHeader(0);
    counters->attempts += rts ? header.IsRts() : header.IsData() || header.IsBlockAckReq();
}

template <class Frame>
void
Unanswered(Counters* counters, bool rts, uint8_t reason, Ptr<const Frame>, const WifiTxVector&)
{
    counters->failed += !rts || reason == WifiTxTimer::WAIT_CTS;
}

// Only these are traced: they cost an increment for each frame of a station.
void
ConnectCounters(const Cell& cell, const Options& options, Counters& counters)
{
    auto began = MakeBoundCallback(&Began, &counters, options.rts);
    auto mpdu = MakeBoundCallback(&Unanswered<WifiMpdu>, &counters, options.rts);
    auto psdu = MakeBoundCallback(&Unanswered<WifiPsdu>, &counters, options.rts);
    for (uint32_t i = 0; i + 1 < cell.devices.GetN(); ++i)
    {
        auto device = DynamicCast<WifiNetDevice>(cell.devices.Get(i));
        device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", began);
        device->GetMac()->TraceConnectWithoutContext("MpduResponseTimeout", mpdu);
        device->GetMac()->TraceConnectWithoutContext("PsduResponseTimeout", psdu);
    }
}

// More than a station could send until the next time.
uint32_t
Backlog(const Options& options)
{
    const double mbps = options.Aggregates() ? MOST_MBPS_PER_MHZ * options.width * options.streams
                                             : std::stod(options.dataMbps);
    return static_cast<uint32_t>(20 + REFILL_S * 1e6 * mbps / (8.0 * options.ipBytes));
}

void
Refill(const Cell& cell, const Options& options, uint32_t backlog)
{
    for (std::size_t i = 0; i < cell.sources.size(); ++i)
    {
        auto mac = DynamicCast<WifiNetDevice>(cell.devices.Get(i))->GetMac();
        auto queue = mac->GetTxopQueue(mac->GetQosSupported() ? AC_BE : AC_BE_NQOS);
        for (uint32_t waiting = queue->GetNPackets(); waiting < backlog; ++waiting)
        {
            cell.sources[i]->Send(Create<Packet>(options.ipBytes - IP_UDP_HEADER_BYTES));
        }
    }
    Simulator::Schedule(Seconds(REFILL_S), [=, &cell, &options] { Refill(cell, options, backlog); });
}

double
CpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void
Report(const Options& options, const Counters& counters, double cpu)
{
    const double bits = 8.0 / options.seconds;
    uint64_t total = 0;
    std::ostringstream each;
    each << std::fixed << std::setprecision(1);
    for (std::size_t i = 0; i < counters.packets.size(); ++i)
    {
        total += counters.packets[i];
        each << (i ? ", " : "") << counters.packets[i] * bits * options.ipBytes;
    }
    std::cout << std::fixed << std::setprecision(1) << R"({"simulator": "ns-)" << NS3_VERSION
              << R"(", "ip_throughput_bps": )" << total * bits * options.ipBytes
              << R"(, "udp_payload_bps": )"
              << total * bits * (options.ipBytes - IP_UDP_HEADER_BYTES)
              << R"(, "station_ip_bps": [)" << each.str() << R"(], "attempts": )" << counters.attempts
              << R"(, "failed_attempts": )" << counters.failed << std::setprecision(6)
              << R"(, "failed_fraction": )"
              << (counters.attempts ? static_cast<double>(counters.failed) / counters.attempts : 0)
              << R"(, "cpu_s": )" << cpu << R"(, "simulated_s": )"
              << options.warmUp + options.seconds << "}" << std::endl;
}

} // namespace

int
main(int argc, char* argv[])
{
    const Options options = ParseOptions(argc, argv);
    SetDefaults(options);
    Counters counters;
    counters.packets.resize(options.stations);
    Cell cell;
    cell.nodes.Create(options.stations + 1);
    InstallDevices(cell, options);
    ConfigureDevices(cell, options);
    Place(cell, options);
    InstallStack(cell);
    ConnectSockets(cell, counters);
    ConnectCounters(cell, options, counters);
    Simulator::Schedule(MilliSeconds(1), [&] { Refill(cell, options, Backlog(options)); });
    Simulator::Schedule(Seconds(options.warmUp), [&] {
        counters.attempts = counters.failed = 0;
        counters.packets.assign(options.stations, 0);
    });
    Simulator::Stop(Seconds(options.warmUp + options.seconds));
    const double before = CpuSeconds();
    Simulator::Run();
    Report(options, counters, CpuSeconds() - before);
    Simulator::Destroy();
    return 0;
}
