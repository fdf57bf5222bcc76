// An 802.11a access point with beacons, stations that sleep, and perhaps an awake one that always sends,
// in ns-3 (from 3.48 on, which has power save and DefaultPowerSaveManager); prints one line of JSON.
//
// Infrastructure MAC with QoS, without which the access point of 3.48 keeps nothing for sleepers; all
// packets are best effort. All stations stand 1 m from the access point, at one point, so that all hear
// all. Packets are handed to the MAC (there is no IP stack, and the sizes are those of IP packets).
// Flows begin when all stations are associated and sleep; delays are from the packet's arrival at the MAC
// to its arrival at the other MAC's upper layer.

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t IPV4 = 0x0800;
// A saturated station's queue is refilled this often to more than it could send meanwhile.
constexpr double REFILL_S = 0.05;
constexpr uint32_t BACKLOG = 400;
// Flows end so long before the run, so that what waits at their end still comes.
constexpr double DRAIN_S = 4;

struct Options
{
    uint32_t sleepers{1};
    uint32_t saturated{0};
    double downPps{5};
    double upPps{0};
    double groupPps{0};
    uint32_t listenInterval{1};
    uint32_t dtimPeriod{3};
    uint32_t ipBytes{500};
    uint32_t saturatedBytes{1500};
    double seconds{100};
    double warmUp{3};
    uint32_t seed{1};
    bool frames{false};
};

// What became of the packets of one direction.
struct Flow
{
    uint64_t sent{0};
    std::vector<double> delays;
};

struct Cell
{
    NodeContainer nodes; // the access point, the sleepers, the saturated stations
    NetDeviceContainer devices;
    std::map<std::string, Flow> flows{{"down", {}}, {"up", {}}, {"group", {}}};
    // Flow and time of the packets under way, by uid.
    std::unordered_map<uint64_t, std::pair<Flow*, Time>> underWay;
    double asleep{0};
    uint64_t polls{0};
    uint64_t saturatedPackets{0};
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine command(__FILE__);
    command.AddValue("sleepers", "stations that sleep", options.sleepers);
    command.AddValue("saturated", "awake stations that always send", options.saturated);
    command.AddValue("down-pps", "Poisson, to each sleeper", options.downPps);
    command.AddValue("up-pps", "Poisson, of each sleeper", options.upPps);
    command.AddValue("group-pps", "Poisson, to all stations", options.groupPps);
    command.AddValue("listen-interval", "beacons for each wake-up", options.listenInterval);
    command.AddValue("dtim-period", "beacons for each DTIM", options.dtimPeriod);
    command.AddValue("ip-bytes", "IP packet with its headers", options.ipBytes);
    command.AddValue("saturated-bytes", "the same of saturated stations", options.saturatedBytes);
    command.AddValue("seconds", "measured time", options.seconds);
    command.AddValue("warm-up", "time before it, s", options.warmUp);
    command.AddValue("seed", "run number", options.seed);
    command.AddValue("frames", "print each frame instead of JSON", options.frames);
    command.Parse(argc, argv);
    return options;
}

Ptr<WifiNetDevice>
Device(const Cell& cell, uint32_t i)
{
    return DynamicCast<WifiNetDevice>(cell.devices.Get(i));
}

void
SetDefaults(const Options& options)
{
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(options.seed);
    // The beacons through which a station sleeps count as missed, too.
    Config::SetDefault("ns3::StaWifiMac::MaxMissedBeacons", UintegerValue(1000000000));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("100000p"));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Hours(24)));
}

void
InstallDevices(Cell& cell, const Options& options)
{
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("OfdmRate54Mbps"),
                                 "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    const SsidValue ssid(Ssid("sleep"));
    mac.SetType("ns3::ApWifiMac",
                "QosSupported",
                BooleanValue(true),
                "Ssid",
                ssid,
                "BeaconInterval",
                TimeValue(MicroSeconds(102400)),
                "BeaconDtimPeriod",
                UintegerValue(options.dtimPeriod));
    cell.devices.Add(wifi.Install(phy, mac, cell.nodes.Get(0)));
    mac.SetType("ns3::StaWifiMac", "QosSupported", BooleanValue(true), "Ssid", ssid);
    for (uint32_t i = 1; i < cell.nodes.GetN(); ++i)
    {
        mac.SetPowerSaveManager("ns3::DefaultPowerSaveManager",
                                "ListenInterval",
                                UintegerValue(options.listenInterval));
        cell.devices.Add(wifi.Install(phy, mac, cell.nodes.Get(i)));
    }
}

void
Place(const Cell& cell)
{
    auto positions = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < cell.nodes.GetN(); ++i)
    {
        positions->Add(Vector(i ? 1 : 0, 0, 0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(cell.nodes);
}

// A packet to all stations counts once, as soon as the first station has it.
bool
Receive(Cell* cell, Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
{
    if (auto it = cell->underWay.find(packet->GetUid()); it != cell->underWay.end())
    {
        auto [flow, sent] = it->second;
        flow->delays.push_back((Simulator::Now() - sent).GetSeconds());
        cell->underWay.erase(it);
    }
    else
    {
        ++cell->saturatedPackets;
    }
    return true;
}

void
SleepState(Cell* cell, Time from, Time start, Time duration, WifiPhyState state)
{
    if (state == WifiPhyState::SLEEP)
    {
        const auto begin = std::max(start, from);
        cell->asleep += std::max(0.0, (start + duration - begin).GetSeconds());
    }
}

void
Sent(Cell* cell, bool print, WifiConstPsduMap psdus, WifiTxVector vector, double)
{
    const auto& psdu = psdus.begin()->second;
    const auto& header = psdu->GetHeader(0);
    cell->polls += header.IsPsPoll();
    if (print)
    {
        std::cout << std::fixed << std::setprecision(9) << Simulator::Now().GetSeconds() << " "
                  << header.GetTypeString() << " to " << header.GetAddr1() << " "
                  << psdu->GetSize() << " B " << vector.GetMode() << " PM "
                  << header.IsPowerManagement() << " more " << header.IsMoreData() << "\n";
    }
}

void
Connect(Cell& cell, const Options& options)
{
    for (uint32_t i = 0; i < cell.devices.GetN(); ++i)
    {
        auto device = Device(cell, i);
        device->SetReceiveCallback(MakeBoundCallback(&Receive, &cell));
        device->GetPhy()->TraceConnectWithoutContext(
            "PhyTxPsduBegin",
            MakeBoundCallback(&Sent, &cell, options.frames));
        if (i > 0 && i <= options.sleepers)
        {
            device->GetPhy()->GetState()->TraceConnectWithoutContext(
                "State",
                MakeBoundCallback(&SleepState, &cell, Seconds(options.warmUp)));
        }
    }
}

// One packet of a Poisson flow now, and the next after its interval.
void
Emit(Cell* cell, Flow* flow, uint32_t from, Address to, Ptr<RandomVariableStream> gaps, uint32_t bytes,
     Time end)
{
    auto packet = Create<Packet>(bytes);
    cell->underWay[packet->GetUid()] = {flow, Simulator::Now()};
    ++flow->sent;
    Device(*cell, from)->Send(packet, to, IPV4);
    const auto next = Seconds(gaps->GetValue());
    if (Simulator::Now() + next < end)
    {
        Simulator::Schedule(next, &Emit, cell, flow, from, to, gaps, bytes, end);
    }
}

void
Start(Cell& cell, const Options& options, const std::string& name, double pps, uint32_t from, Address to)
{
    if (pps <= 0)
    {
        return;
    }
    auto gaps = CreateObject<ExponentialRandomVariable>();
    gaps->SetAttribute("Mean", DoubleValue(1 / pps));
    const auto end = Seconds(options.warmUp + options.seconds - DRAIN_S);
    Simulator::Schedule(Seconds(gaps->GetValue()), &Emit, &cell, &cell.flows[name], from, to, gaps,
                        options.ipBytes, end);
}

void
Refill(Cell& cell, const Options& options, uint32_t station)
{
    auto device = Device(cell, station);
    auto queue = device->GetMac()->GetTxopQueue(AC_BE);
    for (auto waiting = queue->GetNPackets(); waiting < BACKLOG; ++waiting)
    {
        device->Send(Create<Packet>(options.saturatedBytes), Device(cell, 0)->GetAddress(), IPV4);
    }
    Simulator::Schedule(Seconds(REFILL_S), [&, station] { Refill(cell, options, station); });
}

// Only now: the access point of 3.48 does not keep the packets of a station whose association request
// said already that the station sleeps.
void
LetSleep(const Cell& cell, const Options& options)
{
    for (uint32_t i = 1; i <= options.sleepers; ++i)
    {
        auto mac = DynamicCast<StaWifiMac>(Device(cell, i)->GetMac());
        mac->GetPowerSaveManager()->SetPowerSaveMode({{0, true}});
    }
}

void
StartFlows(Cell& cell, const Options& options)
{
    const auto ap = Device(cell, 0)->GetAddress();
    for (uint32_t i = 1; i < cell.devices.GetN(); ++i)
    {
        auto mac = DynamicCast<StaWifiMac>(Device(cell, i)->GetMac());
        const bool sleeps = i <= options.sleepers;
        if (!mac->IsAssociated() || (mac->GetPmMode(0) == WIFI_PM_POWERSAVE) != sleeps)
        {
            NS_FATAL_ERROR("station " << i << " is not associated, or not in its power mode yet");
        }
        if (!sleeps)
        {
            Refill(cell, options, i);
            continue;
        }
        Start(cell, options, "down", options.downPps, 0, Device(cell, i)->GetAddress());
        Start(cell, options, "up", options.upPps, i, ap);
    }
    Start(cell, options, "group", options.groupPps, 0, Mac48Address::GetBroadcast());
    cell.polls = cell.saturatedPackets = 0;
}

// Ends the last sleep of each station, which is traced when it ends.
void
WakeAll(const Cell& cell, const Options& options)
{
    for (uint32_t i = 1; i <= options.sleepers; ++i)
    {
        if (auto phy = Device(cell, i)->GetPhy(); phy->IsStateSleep())
        {
            phy->ResumeFromSleep();
        }
    }
}

double
CpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// The least value that a share of the sorted values does not exceed.
double
Quantile(const std::vector<double>& sorted, double share)
{
    const auto rank = static_cast<std::size_t>(std::ceil(share * sorted.size()));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void
ReportFlow(const std::string& name, Flow& flow)
{
    auto& delays = flow.delays;
    std::sort(delays.begin(), delays.end());
    double sum = 0;
    double squares = 0;
    for (const double delay : delays)
    {
        sum += delay;
        squares += delay * delay;
    }
    std::cout << ", \"" << name << R"(": {"sent": )" << flow.sent << R"(, "delivered": )"
              << delays.size();
    if (!delays.empty())
    {
        const double mean = sum / delays.size();
        const double deviation = std::sqrt(squares / delays.size() - mean * mean);
        std::cout << R"(, "mean_s": )" << mean << R"(, "sd_s": )" << deviation
                  << R"(, "median_s": )" << Quantile(delays, 0.5) << R"(, "p95_s": )"
                  << Quantile(delays, 0.95) << R"(, "longest_s": )" << delays.back();
    }
    std::cout << "}";
}

void
Report(Cell& cell, const Options& options, double cpu)
{
    const double time = options.seconds * options.sleepers;
    std::cout << std::setprecision(9) << R"({"simulator": "ns-)" << NS3_VERSION << "\"";
    for (auto& [name, flow] : cell.flows)
    {
        ReportFlow(name, flow);
    }
    std::cout << R"(, "awake_ratio": )" << 1 - cell.asleep / time << R"(, "polls": )" << cell.polls
              << R"(, "saturated_packets": )" << cell.saturatedPackets << R"(, "cpu_s": )" << cpu
              << R"(, "simulated_s": )" << options.warmUp + options.seconds << "}" << std::endl;
}

} // namespace

int
main(int argc, char* argv[])
{
    const Options options = ParseOptions(argc, argv);
    SetDefaults(options);
    Cell cell;
    cell.nodes.Create(1 + options.sleepers + options.saturated);
    InstallDevices(cell, options);
    Place(cell);
    Connect(cell, options);
    const auto end = Seconds(options.warmUp + options.seconds);
    Simulator::Schedule(Seconds(options.warmUp / 2), [&] { LetSleep(cell, options); });
    Simulator::Schedule(Seconds(options.warmUp), [&] { StartFlows(cell, options); });
    Simulator::Schedule(end, [&] { WakeAll(cell, options); });
    Simulator::Stop(end + NanoSeconds(1));
    const double before = CpuSeconds();
    Simulator::Run();
    if (!options.frames)
    {
        Report(cell, options, CpuSeconds() - before);
    }
    Simulator::Destroy();
    return 0;
}
