//! Scenarios: from a description to figures, and what descriptions are refused.

#[path = "../../../airqueue-network/tests/network/cells/mod.rs"]
mod cells;
#[path = "../../../airqueue-network/tests/network/counting/mod.rs"]
mod counting;
mod drawn_networks;
mod figures;
mod lossy_networks;
mod network_allocations;
mod network_closed_forms;
mod network_pcap;
#[path = "../../../airqueue-network/tests/network/pcap_records/mod.rs"]
mod pcap_records;
#[allow(dead_code, reason = "properties of the engine use the other parts")]
#[path = "../../../airqueue-network/tests/network/random_networks/mod.rs"]
mod random_networks;
mod rdqm_field;
mod scenario_absences;
mod scenario_access_delays;
mod scenario_airtime;
mod scenario_airtime_limits;
mod scenario_associations;
mod scenario_batches;
mod scenario_behaviours;
mod scenario_calls;
mod scenario_changes;
mod scenario_delays;
mod scenario_devices;
mod scenario_drops;
mod scenario_errors;
mod scenario_felt;
mod scenario_figures;
mod scenario_fuzz;
mod scenario_interference;
mod scenario_mcs;
mod scenario_meshes;
mod scenario_monitor;
mod scenario_neighbours;
mod scenario_network_errors;
mod scenario_page;
mod scenario_places;
mod scenario_power;
mod scenario_queue_changes;
mod scenario_rates;
mod scenario_rdqm;
mod scenario_receive_windows;
mod scenario_renamed;
mod scenario_routes;
mod scenario_signals;
mod scenario_small_queue;
mod scenario_tcp_ap;
mod scenario_video;
mod scenario_wires;
mod scenario_words;
mod scenarios;
mod shaped_queue;
#[path = "../../benches/drawn/words.rs"]
mod words;
