//! Ids that are indices of lists, with a type for each list.

/// Defines a type for the indices of a list, so that an index of one list cannot be used in another.
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
            /// The id with this index.
            #[inline]
            pub const fn at(index: usize) -> $name {
                $name(index as $number)
            }

            /// The index, for lists with one entry per id.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
