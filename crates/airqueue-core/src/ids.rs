//! Names that are numbers: places in lists, each of its own type.

/// Makes a type for the places of things in a list, so that a place in one list cannot be used in another.
///
/// ```
/// airqueue_core::ids! {
///     /// A flow, by its place among those of the network.
///     FlowId(u32);
/// }
/// assert_eq!(FlowId::at(3).index(), 3);
/// ```
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl $name {
            /// The one at this place.
            #[inline]
            pub const fn at(index: usize) -> $name {
                $name(index as $number)
            }

            /// The place in whatever is kept for each.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
