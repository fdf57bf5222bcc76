//! The access point's TXOP for data by the number of active downloads n_d (EDCA paper, Table 2).
//!
//! With the same AIFS and CWmin as the stations' data, the access point wins 1/(n_u + 1) of the opportunities among n_u
//! uploads; with n_d packets each time every flow gets 1/(n_u + n_d). A TXOP admits N = max(1, ⌊(TXOP + SIFS)/T⌋)
//! packets, T being one packet with its acknowledgement and the SIFS before each of the two; so n_d T - SIFS admits n_d.

use airqueue_core::Span;

/// The unit of TXOP limits (802.11-2016, 9.4.2.29).
pub const TXOP_UNIT_US: u32 = 32;

/// How a TXOP follows downloads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TxopPolicy {
    /// T: a packet, its acknowledgement, and a SIFS before each.
    pub packet: Span,
    /// SIFS.
    pub sifs: Span,
    /// The most packets of a TXOP, however many downloads there are.
    pub most_packets: u32,
}

impl TxopPolicy {
    /// The TXOP limit in µs that admits so many packets, in whole units; 0 is one packet.
    pub fn txop_us(&self, packets: u32) -> u32 {
        let packets = packets.min(self.most_packets);
        if packets <= 1 {
            return 0;
        }
        let need_ns = self.packet.as_nanos().saturating_mul(packets.into()) - self.sifs.as_nanos();
        let unit_ns = i64::from(TXOP_UNIT_US) * 1000;
        let units = (need_ns + unit_ns - 1) / unit_ns;
        u32::try_from(units).unwrap_or(u32::MAX).min(u16::MAX.into()) * TXOP_UNIT_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(packet_us: i64) -> TxopPolicy {
        TxopPolicy {
            packet: Span::from_micros(packet_us),
            sifs: Span::from_micros(10),
            most_packets: 30,
        }
    }

    /// Packets that a TXOP limit admits: N = max(1, ⌊(TXOP + SIFS)/T⌋).
    fn admitted(policy: &TxopPolicy, txop_us: u32) -> u32 {
        let time_ns = i64::from(txop_us) * 1000 + policy.sifs.as_nanos();
        u32::try_from(time_ns / policy.packet.as_nanos().max(1)).unwrap_or(u32::MAX).max(1)
    }

    #[test]
    fn one_packet_for_each_download() {
        // The paper's packet at 11 Mb/s takes some 1270 µs: six take 7620 - 10 µs.
        let policy = policy(1270);
        assert_eq!(policy.txop_us(6), 7616);
        assert_eq!(admitted(&policy, 7616), 6);
        assert_eq!((policy.txop_us(0), policy.txop_us(1), admitted(&policy, 0)), (0, 0, 1));
    }

    proptest! {
        /// A TXOP admits what it is for; rounding up to the unit adds no more packets than fit into a unit.
        #[test]
        fn a_txop_admits_its_packets(packet_us in 50i64..5000, packets in 1u32..100) {
            let policy = TxopPolicy { most_packets: 100, ..policy(packet_us) };
            let txop_us = policy.txop_us(packets);
            prop_assert!(txop_us.is_multiple_of(TXOP_UNIT_US));
            prop_assert!(txop_us <= 65_535 * TXOP_UNIT_US);
            let admitted = admitted(&policy, txop_us);
            prop_assert!(admitted == packets, "{} for {}", admitted, packets);
        }
    }
}
