//! Neighbours: each table becomes stations, flows and links of the file.

use super::emulated::read;
use super::error::{Result, ScenarioError, wrong};
use super::file::{File, NeighboursTable};
use super::medium::noise_w;
use super::phy::{radio, rate_index};
use airqueue_transport::traffic::PACKET_BYTES;
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::from_db;
use airqueue_wifi::phy::{Phy, frames};
use serde_json::{Map, Value, json};

const MOST_LOAD: f64 = 0.9;
const DOWN: f64 = 0.9;
const STATIONS: u32 = 2;
const SNR_DB: f64 = 20.0;

/// How many tables of each kind the file had before.
struct Own {
    stations: usize,
    flows: usize,
    links: usize,
}

/// Replaces the tables of neighbours by what they stand for.
///
/// Whatever is wrong with that is told of the table of neighbours by [`of_neighbours`].
pub(super) fn expand(value: &mut Value) -> Result<()> {
    let given = value.get("neighbours").and_then(Value::as_array);
    if given.is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let file = read(value.clone())?;
    let (layer, usual) = radio(&file.phy, file.behaviour.profile())?;
    let keys = value.as_object_mut().expect("a file that was read is a table");
    let tables = keys.remove("neighbours").unwrap_or_default();
    let phy_rate = keys.get("phy").and_then(|phy| phy.get("rate")).cloned();
    let count = |keys: &Map<String, Value>, key| {
        keys.get(key).and_then(Value::as_array).map_or(0, Vec::len)
    };
    let links = keys.get("medium").and_then(|of| of.get("links")).and_then(Value::as_array);
    let own = Own {
        stations: count(keys, "stations"),
        flows: count(keys, "flows"),
        links: links.map_or(0, Vec::len),
    };
    let cells = file.neighbours.iter().enumerate().zip(tables.as_array().into_iter().flatten());
    let mut all = Vec::new();
    for ((at, table), written) in cells {
        let key = format!("neighbours[{at}]");
        check(&key, table, &file)?;
        let rate = match &table.rate {
            Some(rate) => rate_index(&file.phy, &layer.phy, format_args!("{key}.rate"), rate)?,
            None => usual,
        };
        let rate_text = written.get("rate").or(phy_rate.as_ref());
        let cell = Cell { table, written, rate_text };
        push(keys, "stations", cell.stations());
        push(keys, "flows", cell.flows(&layer.phy, rate));
        all.push(&**table);
    }
    let powers = Powers::of(&file)?;
    if let Some(links) = linked(&file, &all, &powers, own.links) {
        let medium = keys.entry("medium").or_insert_with(|| json!({}));
        let medium = medium.as_object_mut().expect("a table that was read");
        medium.remove("snr");
        let known = medium.entry("links").or_insert_with(|| json!([]));
        known.as_array_mut().expect("a list that was read").extend(links);
    }
    // Changes may be of what only packets of real programs use.
    let whole = File { changes: Vec::new(), ..read(value.clone())?.0 };
    match super::Scenario::new(&whole).map_err(|problem| of_neighbours(&problem, &own, all.len())) {
        Err(Some(problem)) => Err(problem),
        _ => Ok(()),
    }
}

fn push(keys: &mut Map<String, Value>, key: &str, tables: Vec<Value>) {
    let list = keys.entry(key).or_insert_with(|| json!([]));
    list.as_array_mut().expect("a list that was read").extend(tables);
}

/// An error about a table that is not in the file, as an error of the neighbours; `None`: it is about the file.
fn of_neighbours(problem: &ScenarioError, own: &Own, cells: usize) -> Option<ScenarioError> {
    let ScenarioError { key, problem: said } = problem;
    for (kind, count) in
        [("stations", own.stations), ("flows", own.flows), ("medium.links", own.links)]
    {
        let rest = key.strip_prefix(kind).and_then(|rest| rest.strip_prefix('['));
        let Some((number, rest)) = rest.and_then(|rest| rest.split_once(']')) else { continue };
        let Ok(number) = number.parse::<usize>() else { continue };
        if number >= count {
            // Each cell has two tables of stations.
            let cell = if kind == "stations" { (number - count) / 2 } else { cells };
            let key = match cell < cells {
                true => format!("neighbours[{cell}]"),
                false => "neighbours".to_owned(),
            };
            let problem = format!("{} of what it stands for: {said}", rest.trim_start_matches('.'));
            return Some(ScenarioError { key, problem: problem.trim_start().to_owned() });
        }
    }
    None
}

fn check(key: &str, table: &NeighboursTable, file: &File) -> Result<()> {
    if !(table.load > 0.0 && table.load <= MOST_LOAD) {
        let problem =
            format_args!("found {}, expected above 0 and at most {MOST_LOAD}", table.load);
        return wrong(format_args!("{key}.load"), problem);
    }
    if let Some(down) = table.down.filter(|down| !(0.0..=1.0).contains(down)) {
        return wrong(format_args!("{key}.down"), format_args!("found {down}, expected 0 to 1"));
    }
    if let Some(count) = table.stations.filter(|count| !(1..=100).contains(count)) {
        let problem = format_args!("found {count}, expected 1 to 100");
        return wrong(format_args!("{key}.stations"), problem);
    }
    if table.size.as_ref().is_some_and(|size| !(1..=MOST_BYTES).contains(&size.value)) {
        return wrong(format_args!("{key}.size"), "expected 1 to 2304 B");
    }
    let places = file.medium.ranges.is_some() || file.medium.path_loss.is_some();
    let of_places = [
        ("position", table.position.is_some()),
        ("radius", table.radius.is_some()),
        ("power", table.power.is_some()),
    ];
    if let (false, Some((name, _))) = (places, of_places.iter().find(|(_, given)| *given)) {
        let problem = "without medium.ranges or medium.path_loss it means nothing; give heard_by, or leave it out";
        return wrong(format_args!("{key}.{name}"), problem);
    }
    if places && table.position.is_none() {
        return wrong(key, "missing key `position`: where its access point is");
    }
    if places && table.heard_by.is_some() {
        let problem = "who hears the cell follows from its position; leave it out";
        return wrong(format_args!("{key}.heard_by"), problem);
    }
    if table.snr.is_some() && table.heard_by.is_none() {
        return wrong(
            format_args!("{key}.snr"),
            "it belongs to heard_by; give both, or leave it out",
        );
    }
    Ok(())
}

/// The largest MSDU of old frames (IEEE 802.11-2016, table 9-19).
const MOST_BYTES: u32 = 2304;

/// A cell, and its table as it was written.
struct Cell<'a> {
    table: &'a NeighboursTable,
    written: &'a Value,
    rate_text: Option<&'a Value>,
}

impl Cell<'_> {
    fn count(&self) -> u32 {
        self.table.stations.unwrap_or(STATIONS)
    }

    fn stations(&self) -> Vec<Value> {
        let name = &self.table.name;
        let mut ap = json!({"name": format!("{name}-ap")});
        let mut group = json!({"name": name, "count": self.count()});
        for station in [&mut ap, &mut group] {
            for (key, value) in [
                ("rate", self.rate_text),
                ("position", self.written.get("position")),
                ("power", self.written.get("power")),
            ] {
                if let Some(value) = value {
                    station[key] = value.clone();
                }
            }
        }
        if self.table.position.is_some() {
            group["circle"] = self.written.get("radius").cloned().unwrap_or_else(|| json!("5 m"));
        }
        vec![ap, group]
    }

    /// Poisson packets so often that their exchanges take the load.
    fn flows(&self, phy: &Phy, rate: RateIndex) -> Vec<Value> {
        let bytes = self.table.size.as_ref().map_or(PACKET_BYTES, |size| size.value);
        let per_s = self.table.load / exchange_s(phy, rate, bytes) / f64::from(self.count());
        let down = self.table.down.unwrap_or(DOWN);
        let (name, ap) = (&self.table.name, format!("{}-ap", self.table.name));
        let flow = |word: &str, from: &str, to: &str, share: f64| {
            json!({
                "name": format!("{name}-{word}"), "from": from, "to": to, "source": "poisson",
                "size": format!("{bytes} B"), "packet_rate": format!("{} packets/s", per_s * share)
            })
        };
        let flows = [("down", &*ap, &**name, down), ("up", name, &ap, 1.0 - down)];
        let flows = flows.into_iter().filter(|(.., share)| per_s * share >= 1e-3);
        flows.map(|(word, from, to, share)| flow(word, from, to, share)).collect()
    }
}

/// Data, SIFS and response for a packet.
fn exchange_s(phy: &Phy, rate: RateIndex, ip_bytes: u32) -> f64 {
    let header = match phy.newest_format() {
        Some(_) => frames::QOS_HEADER_BYTES,
        None => frames::HEADER_BYTES,
    };
    let bytes = ip_bytes + header + frames::FCS_BYTES + frames::LLC_SNAP_BYTES;
    let answer = phy.airtime(phy.response_rate(rate), frames::ACK_BYTES);
    (phy.airtime(rate, bytes) + phy.sifs() + answer).as_secs_f64()
}

/// Powers of links, in dBm, where a medium has `snr`.
struct Powers {
    noise_dbm: f64,
    own_db: Option<f64>,
}

impl Powers {
    fn of(file: &File) -> Result<Powers> {
        let noise_w = noise_w(&file.medium, file.phy.standard.0.dsss_alone)?;
        let own_db = file.medium.snr.as_ref().map(|snr| snr.value);
        Ok(Powers { noise_dbm: 10.0 * libm::log10(noise_w * from_db(30.0)), own_db })
    }

    fn link(&self, from: &str, to: &str, snr_db: Option<f64>) -> Value {
        match snr_db {
            Some(snr_db) => json!({
                "from": from, "to": to, "power": format!("{} dBm", self.noise_dbm + snr_db)
            }),
            None => json!({"from": from, "to": to}),
        }
    }
}

/// The links of a medium without positions in which not all stations hear each other; `None`: as the medium is.
fn linked(
    file: &File,
    cells: &[&NeighboursTable],
    powers: &Powers,
    known: usize,
) -> Option<Vec<Value>> {
    let medium = &file.medium;
    let partly = cells.iter().any(|cell| cell.heard_by.is_some());
    if medium.ranges.is_some() || medium.path_loss.is_some() || known == 0 && !partly {
        return None;
    }
    let with_power = medium.snr.is_some()
        || medium.links.as_ref().is_some_and(|links| links.iter().any(|of| of.power.is_some()));
    let snr = |db: f64| with_power.then_some(db);
    let mut links = Vec::new();
    let mut add = |from: &str, to: &str, db: f64| links.push(powers.link(from, to, snr(db)));
    let own_db = powers.own_db.unwrap_or(SNR_DB);
    // A group hears itself; a single station has no link to itself.
    let groups: Vec<(&str, bool)> = file
        .stations
        .iter()
        .map(|of| (&*of.name, of.count.is_some_and(|count| count > 1)))
        .collect();
    if known == 0 {
        for (at, &(one, many)) in groups.iter().enumerate() {
            if many {
                add(one, one, own_db);
            }
            groups[..at].iter().for_each(|(other, _)| add(one, other, own_db));
        }
    }
    for (at, cell) in cells.iter().enumerate() {
        let (ap, sta) = (format!("{}-ap", cell.name), &*cell.name);
        let db = cell.snr.as_ref().map_or(SNR_DB, |snr| snr.value);
        add(&ap, sta, own_db);
        if cell.stations.unwrap_or(STATIONS) > 1 {
            add(sta, sta, own_db);
        }
        let all: Vec<&str> = groups.iter().map(|(name, _)| *name).collect();
        let hearers = cell.heard_by.as_ref().map(|of| of.iter().map(String::as_str).collect());
        for hearer in hearers.unwrap_or(all) {
            add(&ap, hearer, db);
            add(sta, hearer, db);
        }
        for other in
            cells[..at].iter().filter(|of| of.heard_by.is_none() && cell.heard_by.is_none())
        {
            let other_ap = format!("{}-ap", other.name);
            for one in [&*ap, sta] {
                add(one, &other_ap, db);
                add(one, &other.name, db);
            }
        }
    }
    Some(links)
}
