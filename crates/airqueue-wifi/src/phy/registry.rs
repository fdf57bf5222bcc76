//! The macro that expands the list of generations in `phy/mod.rs`.

/// Uses the `GENERATION` of each file, and the `FORMAT` of files that define a format.
macro_rules! generations {
    ($($file:ident $(=> $format:ident)?),+ $(,)?) => {
        /// All generations, older ones first.
        pub const GENERATIONS: &[&Generation] = &[$(&$file::GENERATION),+];

        $($(
            const _: () = assert!(
                Format::$format.window() <= frames::LONGEST_WINDOW,
                "block acks, recipients and captures know no larger window"
            );
        )?)+

        /// PPDU format: HT or a later format, each introduced by a [`Generation`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Format {
            $($(
                #[doc = concat!("As in `phy/", stringify!($file), ".rs`.")]
                $format,
            )?)+
        }

        impl Format {
            /// All formats, older ones first.
            pub const ALL: &[Format] = &[$($(Format::$format,)?)+];

            /// The generation that introduced the format.
            pub const fn generation(self) -> &'static Generation {
                match self {
                    $($(Format::$format => &$file::GENERATION,)?)+
                }
            }

            const fn facts(self) -> &'static format::FormatFacts {
                match self {
                    $($(Format::$format => &$file::FORMAT,)?)+
                }
            }
        }
    };
}

pub(super) use generations;
