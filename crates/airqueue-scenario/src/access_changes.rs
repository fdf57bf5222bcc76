//! Changes of stations' channel access during a run.

use super::changes::Changes;
use super::error::{Result, wrong};
use super::file::ChangeTable;
use super::mac::Contention;
use airqueue_core::keys::Given;
use airqueue_network::network::Change;
use airqueue_wifi::mac::Txop;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::ops::Range;

impl Changes<'_> {
    /// Changes the TXOPs, the AIFS and the windows of an access category of some stations.
    pub(super) fn access(
        &self,
        key: &str,
        stations: Range<usize>,
        table: &ChangeTable,
    ) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        for id in stations {
            changes.extend(self.txop(key, id, table)?);
            changes.extend(self.contention(key, id, table)?);
        }
        Ok(changes)
    }

    fn txop(&self, key: &str, id: usize, table: &ChangeTable) -> Result<Option<Change>> {
        let Some(txop) = table.txop.as_ref().map(|txop| txop.value) else { return Ok(None) };
        let stations = &self.flows.radio_hops.stations;
        if !stations.has_categories(id) {
            return self.no_categories(format_args!("{key}.txop"), id);
        }
        let ac = table.category.map_or(AccessCategory::BEST_EFFORT, AccessCategory::from);
        let old = stations.specs[id].mac.categories[ac.index()].txop;
        if [old, txop].contains(&Txop::Flows) {
            let problem = "`flows` follows the flows by itself, and neither begins nor ends during a run; give a time \
                           or packets, at the beginning, too";
            return wrong(format_args!("{key}.txop"), problem);
        }
        Ok(Some(Change::Txop { station: StationId(id as u32), ac, txop }))
    }

    fn contention(&self, key: &str, id: usize, table: &ChangeTable) -> Result<Vec<Change>> {
        let stations = &self.flows.radio_hops.stations;
        let ac = match (stations.has_categories(id), table.category) {
            (true, category) => category.map_or(AccessCategory::BEST_EFFORT, AccessCategory::from),
            (false, None) => AccessCategory::FIRST,
            (false, Some(_)) => return self.no_categories(format_args!("{key}.category"), id),
        };
        let mac = &stations.specs[id].mac;
        let given = |name: &str, value| Given { key: format!("{key}.{name}"), value };
        let config = Contention {
            aifsn: table.aifsn.as_ref().map(|value| given("aifsn", value)),
            cw_min: table.cw_min.as_ref().map(|value| given("cw_min", value)),
            cw_max: table.cw_max.as_ref().map(|value| given("cw_max", value)),
            countdown: None,
            experimental: mac.experimental,
        }
        .of(mac.categories[ac.index()])?;
        let station = StationId(id as u32);
        let aifsn = table.aifsn.map(|aifsn| Change::Aifsn { station, ac, aifsn });
        let (w_min, w_max) = (config.w_min, config.w_max);
        let windows = table.cw_min.map(|_| Change::Windows { station, ac, w_min, w_max });
        Ok([aifsn, windows].into_iter().flatten().collect())
    }

    fn no_categories<T>(&self, key: std::fmt::Arguments<'_>, id: usize) -> Result<T> {
        let name = self.flows.radio_hops.stations.name(id);
        let problem = format_args!("{name:?} has no access categories; give mac.access = \"edca\"");
        wrong(key, problem)
    }
}
