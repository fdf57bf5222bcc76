//! The only crate that touches the operating system: sockets with kernel timestamps, the wall-clock
//! event loop that drives the sans-IO endpoints, and the small binary that needs no Python.
