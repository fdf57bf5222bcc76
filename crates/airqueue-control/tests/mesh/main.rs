//! Routers of a mesh: what they agree on, how soon, and what others can do to them.

mod agreement;
mod changes;
mod hostile;
mod messages;
mod net;
mod world;
