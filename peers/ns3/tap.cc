// Two TAP devices of this machine at the ends of a network of ns-3, in real time: a wire of a given
// delay, or that wire and an access point and a station of 802.11ax behind the wire.
//
// The devices are `server`, at the wire, and `sta`. Prints "ready" once both are there (with
// 802.11ax: once the station has associated), and on SIGTERM one line of JSON: how late events were.
// ns-3 itself says nothing about being late: it goes on as soon as it can.
//
// Builds against ns-3.37 as Debian has it. TapBridge has a program of its own make the device;
// Debian's library looks for this program where the package was built, so --creator names it.

#include "ns3/bridge-module.h"
#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/tap-bridge-module.h"
#include "ns3/wifi-module.h"

#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

// How often lateness is looked at.
constexpr int64_t LOOK_US = 1000;

volatile std::sig_atomic_t g_ended = 0;
std::string g_creator;

struct Options
{
    bool wifi{false};
    double delayMs{5};
    uint32_t mcs{9};
    uint32_t width{160};
};

Options
ParseOptions(int argc, char* argv[])
{
    Options options;
    CommandLine command(__FILE__);
    command.AddValue("wifi", "an access point and a station of 802.11ax", options.wifi);
    command.AddValue("delayMs", "of the wire, each way", options.delayMs);
    command.AddValue("mcs", "scheme of data frames", options.mcs);
    command.AddValue("width", "MHz", options.width);
    command.AddValue("creator", "the program ns3.37-tap-creator", g_creator);
    command.Parse(argc, argv);
    if (g_creator.empty())
    {
        NS_FATAL_ERROR("--creator: expected the path of ns3.37-tap-creator");
    }
    return options;
}

void
SetDefaults()
{
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RealtimeSimulatorImpl"));
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    // What the standard allows: our engine has it so.
    Config::SetDefault("ns3::WifiMac::BE_MaxAmpduSize", UintegerValue(6500631));
    Config::SetDefault("ns3::HeConfiguration::MpduBufferSize", UintegerValue(256));
    Config::SetDefault("ns3::HeConfiguration::GuardInterval", TimeValue(NanoSeconds(800)));
}

// No queue and no rate: packets of a SimpleNetDevice are on their way at once.
NetDeviceContainer
InstallWire(const NodeContainer& ends, double delayMs)
{
    SimpleNetDeviceHelper wire;
    wire.SetChannel("ns3::SimpleChannel", "Delay", TimeValue(MicroSeconds(1000 * delayMs)));
    return wire.Install(ends);
}

// Address and mask are overwritten by whoever takes the device: TapBridge wants some.
void
InstallTap(Ptr<Node> node, Ptr<NetDevice> device, const std::string& name, const char* address)
{
    TapBridgeHelper tap;
    tap.SetAttribute("Mode", StringValue("ConfigureLocal"));
    tap.SetAttribute("DeviceName", StringValue(name));
    tap.SetAttribute("IpAddress", Ipv4AddressValue(address));
    tap.SetAttribute("Netmask", Ipv4MaskValue("255.255.255.0"));
    tap.Install(node, device);
}

void
Associated(bool* associated, Mac48Address)
{
    *associated = true;
}

// TapBridge waits for its program in an event, so a device that exists is whole.
void
SayReady(const bool* associated)
{
    if (*associated && if_nametoindex("server") && if_nametoindex("sta"))
    {
        std::cout << "ready" << std::endl;
        return;
    }
    Simulator::Schedule(MicroSeconds(LOOK_US), &SayReady, associated);
}

// The device of the station, 1 m from the access point. ns-3's own queue of 500 packets is before both.
Ptr<NetDevice>
InstallCell(const NodeContainer& nodes,
            const Options& options,
            Ptr<NetDevice>& accessPoint,
            bool* associated)
{
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings",
            StringValue("{0, " + std::to_string(options.width) + ", BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ax);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("HeMcs" + std::to_string(options.mcs)),
                                 "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    const SsidValue ssid(Ssid("tap"));
    mac.SetType("ns3::ApWifiMac", "Ssid", ssid);
    accessPoint = wifi.Install(phy, mac, nodes.Get(0)).Get(0);
    mac.SetType("ns3::StaWifiMac", "Ssid", ssid);
    auto station = wifi.Install(phy, mac, nodes.Get(1)).Get(0);
    DynamicCast<WifiNetDevice>(station)->GetMac()->TraceConnectWithoutContext(
        "Assoc",
        MakeBoundCallback(&Associated, associated));
    auto positions = CreateObject<ListPositionAllocator>();
    positions->Add(Vector(0, 0, 0));
    positions->Add(Vector(1, 0, 0));
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    return station;
}

void
Build(const Options& options, bool* associated)
{
    NodeContainer nodes;
    nodes.Create(options.wifi ? 3 : 2);
    auto wire = InstallWire(NodeContainer(nodes.Get(0), nodes.Get(1)), options.delayMs);
    InstallTap(nodes.Get(0), wire.Get(0), "server", "10.9.0.1");
    if (!options.wifi)
    {
        InstallTap(nodes.Get(1), wire.Get(1), "sta", "10.9.0.2");
        *associated = true;
        return;
    }
    Ptr<NetDevice> accessPoint;
    NodeContainer cell(nodes.Get(1), nodes.Get(2));
    auto station = InstallCell(cell, options, accessPoint, associated);
    BridgeHelper().Install(nodes.Get(1), NetDeviceContainer(wire.Get(1), accessPoint));
    InstallTap(nodes.Get(2), station, "sta", "10.9.0.2");
}

void
Look(std::vector<int64_t>* lateNs)
{
    auto clock = DynamicCast<RealtimeSimulatorImpl>(Simulator::GetImplementation());
    lateNs->push_back((clock->RealtimeNow() - Simulator::Now()).GetNanoSeconds());
    if (g_ended)
    {
        Simulator::Stop();
        return;
    }
    Simulator::Schedule(MicroSeconds(LOOK_US), &Look, lateNs);
}

double
Quantile(std::vector<int64_t>& lateNs, double share)
{
    std::sort(lateNs.begin(), lateNs.end());
    return 1e-9 * lateNs[static_cast<std::size_t>(share * (lateNs.size() - 1))];
}

} // namespace

// In the child that TapBridge forks. There is no other way to tell the library where its program is.
extern "C" int
execlp(const char*, const char* name, ...)
{
    std::vector<char*> arguments{const_cast<char*>(name)};
    va_list rest;
    va_start(rest, name);
    while (arguments.back())
    {
        arguments.push_back(va_arg(rest, char*));
    }
    va_end(rest);
    return execv(g_creator.c_str(), arguments.data());
}

int
main(int argc, char* argv[])
{
    const Options options = ParseOptions(argc, argv);
    std::signal(SIGTERM, [](int) { g_ended = 1; });
    SetDefaults();
    bool associated = false;
    Build(options, &associated);
    Simulator::Schedule(MicroSeconds(LOOK_US), &SayReady, &associated);
    std::vector<int64_t> lateNs;
    Simulator::Schedule(MicroSeconds(LOOK_US), &Look, &lateNs);
    Simulator::Run();
    std::cout << R"({"late_p50_s": )" << Quantile(lateNs, 0.5) << R"(, "late_p99_s": )"
              << Quantile(lateNs, 0.99) << R"(, "late_max_s": )" << Quantile(lateNs, 1) << "}"
              << std::endl;
    Simulator::Destroy();
    return 0;
}
