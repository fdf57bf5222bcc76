//! The shell: sockets, clocks, and the binary.

mod binary;
mod classes;
mod common;
mod driver;
mod echo;
mod emulator;
mod load;
mod turns;
