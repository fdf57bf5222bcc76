//! What several tests over real sockets share.

use airqueue_host::{ClientHandle, ClientOptions};
use std::time::Duration;

/// A client of the server on this port of the local host.
pub fn connect(port: u16) -> ClientHandle {
    let options = ClientOptions {
        host: "127.0.0.1".into(),
        port,
        key: None,
        flows: 1,
        others: 0,
        local_ports: Vec::new(),
        namespace: None,
        timeout: Duration::from_secs(10),
        max_wait: Duration::from_secs(60),
    };
    ClientHandle::connect(&options).unwrap()
}
