//! The one number of a plan's setting that a loop changes.

use crate::plan::{Category, Fifo, Leaf, OwnEdca, Plan, Queue, QueueOf, Set, Shaped, Txq};

/// Which number a loop changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Knob {
    /// The limit in packets of an interface's FIFO, or of the FIFO below its shaper.
    QueueLimit {
        /// The interface.
        interface: String,
    },
    /// The limit in packets of a phy's TXQs.
    TxqLimit {
        /// The phy.
        phy: String,
    },
    /// The TXOP limit in µs of an access point's own queue; AIFSN and CWmin change with the limit ([`super::Access`]).
    OwnTxop {
        /// The interface.
        interface: String,
        /// The access category.
        access_category: Category,
    },
}

impl Knob {
    /// What has to be in a plan so that the number can be changed, in words.
    pub fn wanted(&self) -> String {
        match self {
            Knob::QueueLimit { interface } => {
                format!(
                    "a queue of {interface} that is a fifo with limit_packets, or shaped with such a fifo below"
                )
            }
            Knob::TxqLimit { phy } => format!("a txq of {phy} with limit_packets"),
            Knob::OwnTxop { interface, access_category } => {
                format!("an own_edca of {interface} for {}", access_category.words())
            }
        }
    }

    /// The setting of the plan that has the number, by its place in the plan.
    pub fn find(&self, plan: &Plan) -> Option<usize> {
        plan.settings.iter().position(|item| self.value(&item.set).is_some())
    }

    /// The number, if the setting has it.
    pub fn value(&self, set: &Set) -> Option<u32> {
        self.of(&mut set.clone()).map(|number| *number)
    }

    /// The setting with another number; as it was if it has no such number.
    pub fn turned(&self, set: &Set, value: u32) -> Set {
        let mut set = set.clone();
        if let Some(number) = self.of(&mut set) {
            *number = value;
        }
        set
    }

    fn of<'a>(&self, set: &'a mut Set) -> Option<&'a mut u32> {
        match (self, set) {
            (Knob::QueueLimit { interface }, Set::Queue(QueueOf { interface: of, queue })) => {
                let fifo = match queue {
                    Queue::Fifo(fifo) | Queue::Shaped(Shaped { below: Leaf::Fifo(fifo), .. }) => {
                        fifo
                    }
                    _ => return None,
                };
                let Fifo { limit_packets, .. } = fifo;
                limit_packets.as_mut().filter(|_| interface == of)
            }
            (Knob::TxqLimit { phy }, Set::Txq(Txq { phy: of, limit_packets, .. })) => {
                limit_packets.as_mut().filter(|_| phy == of)
            }
            (
                Knob::OwnTxop { interface, access_category },
                Set::OwnEdca(OwnEdca { interface: of, access_category: category, txop_us, .. }),
            ) => Some(txop_us).filter(|_| interface == of && access_category == category),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Item;
    use serde_json::json;

    fn set(json: serde_json::Value) -> Set {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_knob_turns_its_number_and_nothing_else() {
        let limit = Knob::QueueLimit { interface: "eth0".into() };
        let shaped = |limit: u32| {
            set(json!({"queue": {"interface": "eth0", "queue": {"shaped": {"rate_bps": 8000000,
                "below": {"fifo": {"limit_packets": limit}}}}}}))
        };
        assert_eq!(limit.turned(&shaped(50), 7), shaped(7));
        assert_eq!(limit.value(&shaped(50)), Some(50));
        let txop =
            Knob::OwnTxop { interface: "wlan0".into(), access_category: Category::BestEffort };
        let own = |category: &str, txop_us: u32| {
            set(json!({"own_edca": {"interface": "wlan0", "access_category": category, "aifsn": 6,
                "cw_min": 31, "cw_max": 1023, "txop_us": txop_us}}))
        };
        assert_eq!(txop.turned(&own("best_effort", 0), 640), own("best_effort", 640));
        assert_eq!(txop.value(&own("video", 0)), None);
        let txqs = Knob::TxqLimit { phy: "phy0".into() };
        let txq = |limit: u32| set(json!({"txq": {"phy": "phy0", "limit_packets": limit}}));
        assert_eq!(txqs.turned(&txq(100), 70), txq(70));
        assert_eq!(Knob::TxqLimit { phy: "phy1".into() }.value(&txq(100)), None);
        // A limit in bytes is another number, and so is that of another interface.
        for other in [
            json!({"queue": {"interface": "eth0", "queue": {"fifo": {"limit_bytes": 9000}}}}),
            json!({"queue": {"interface": "eth1", "queue": {"fifo": {"limit_packets": 9}}}}),
            json!({"queue": {"interface": "eth0", "queue": {"fq_codel": {}}}}),
        ] {
            let other = set(other);
            assert_eq!([limit.value(&other), txqs.value(&other)], [None; 2]);
            assert_eq!(limit.turned(&other, 3), other);
        }
        let item = |set| Item { why: "a test".into(), set };
        let plan = Plan {
            plan: 1,
            made_by: "a test".into(),
            settings: vec![item(txq(100)), item(own("best_effort", 0))],
        };
        assert_eq!([txop.find(&plan), limit.find(&plan)], [Some(1), None]);
    }
}
