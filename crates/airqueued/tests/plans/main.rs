//! Plans on the kernel's own queue disciplines, in network namespaces.
#![allow(clippy::disallowed_methods)]

mod apply;
mod bed;
mod flows;
mod frames;
mod interfaces;
mod kills;
mod mesh;
mod obeys;
mod service;
mod uci;
