//! What several tests over real sockets share.
#![allow(dead_code)] // Each of these tests uses a part.

use airqueue_host::{ClientHandle, ClientOptions, ServerOptions};
use airqueue_probe::limits::Limits;
use std::time::Duration;

/// A server on a free port of the local host, without a key.
pub fn server(limits: Limits, tcp: bool) -> ServerOptions {
    ServerOptions {
        bind: Some([127, 0, 0, 1].into()),
        port: 0,
        key: None,
        limits,
        namespace: None,
        tcp,
        attends: Vec::new(),
    }
}

/// A client with one flow of the server on this port of the local host.
pub fn client(port: u16) -> ClientOptions {
    ClientOptions {
        host: "127.0.0.1".into(),
        port,
        key: None,
        flows: 1,
        others: 0,
        local_ports: Vec::new(),
        namespace: None,
        timeout: Duration::from_secs(10),
        max_wait: Duration::from_secs(60),
    }
}

/// Such a client, connected.
pub fn connect(port: u16) -> ClientHandle {
    ClientHandle::connect(&client(port)).unwrap()
}
