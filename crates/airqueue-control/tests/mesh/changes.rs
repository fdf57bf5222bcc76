//! Things that happen to a mesh.

use crate::world::{self, World, facts};
use airqueue_core::RandomStream;

/// Something that happens to a mesh.
pub fn change(world: &mut World, draw: &mut RandomStream) -> String {
    let flow = draw.below(world.flows.len() as u64) as usize;
    let route = world.flows[flow].route.clone();
    match draw.below(4) {
        0 => {
            let at = draw.below(route.len() as u64 - 1) as usize;
            let rate = world::RATES[draw.below(4) as usize];
            let ends = (route[at], route[at + 1]);
            let channel = world.links[&ends].channel;
            world.links.insert(ends, facts(rate, channel));
            format!("link {ends:?} has {rate} bit/s")
        }
        1 if world.flows.len() > 1 => {
            world.flows.remove(flow);
            format!("flow {flow} ends")
        }
        2 => {
            let other = draw.below(world.nodes as u64) as usize;
            match world::route(world, route[0], other).filter(|route| route.len() > 1) {
                Some(route) => {
                    world.flow(route.clone());
                    format!("a flow begins by {route:?}")
                }
                None => "nothing".into(),
            }
        }
        _ => {
            let other = draw.below(world.nodes as u64) as usize;
            match world::route(world, route[0], other).filter(|route| route.len() > 1) {
                Some(route) => {
                    world.flows[flow].route.clone_from(&route);
                    format!("flow {flow} goes by {route:?}")
                }
                None => "nothing".into(),
            }
        }
    }
}
