//! [`named`]: an enum with one word for each variant.

/// An enum with the word of each variant beside it. `ALL` has them in the order of the enum, and the
/// function behind the enum gives the word.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$doc:meta])* $variant:ident = $word:literal, )+
        }
        $(#[$word_doc:meta])*
        pub fn $word_of:ident;
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $( $(#[$doc])* $variant, )+
        }

        impl $name {
            /// All, in the order of the enum.
            pub const ALL: [Self; [$( $word ),+].len()] = [$( Self::$variant ),+];

            $(#[$word_doc])*
            pub fn $word_of(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )+
                }
            }
        }
    };
}

pub(crate) use named;
