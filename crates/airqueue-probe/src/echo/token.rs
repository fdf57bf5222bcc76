//! Eight bytes in each probe that an answer must repeat.

use crate::auth;

/// Length of a token in bytes.
pub const TOKEN_LEN: usize = 8;

/// Makes tokens, and reads the number of a probe from one.
#[derive(Clone)]
pub struct Tokens {
    secret: [u8; 32],
    mask: u32,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(..)")
    }
}

impl Tokens {
    /// Tokens that nobody guesses without the secret.
    pub fn new(secret: [u8; 32]) -> Tokens {
        let mask = half(&secret, b"airqueue echo mask", 0);
        Tokens { secret, mask }
    }

    /// The token of probe `index` of a target. Half of it says which probe, half proves that the probe was seen.
    pub fn token(&self, target: usize, index: u32) -> [u8; TOKEN_LEN] {
        let number = (index ^ self.mask).to_be_bytes();
        let proof = self.proof(target, index).to_be_bytes();
        std::array::from_fn(|i| if i < 4 { number[i] } else { proof[i - 4] })
    }

    /// The probe of a target that a token is from.
    pub fn index(&self, target: usize, token: [u8; TOKEN_LEN]) -> Option<u32> {
        let [a, b, c, d, proof @ ..] = token;
        let index = u32::from_be_bytes([a, b, c, d]) ^ self.mask;
        (u32::from_be_bytes(proof) == self.proof(target, index)).then_some(index)
    }

    fn proof(&self, target: usize, index: u32) -> u32 {
        let probe = (target as u64) << 32 | u64::from(index);
        half(&self.secret, b"airqueue echo", probe)
    }
}

fn half(secret: &[u8; 32], label: &[u8], number: u64) -> u32 {
    let [a, b, c, d, ..] = auth::hmac(secret, &[label, &number.to_be_bytes()]);
    u32::from_be_bytes([a, b, c, d])
}
