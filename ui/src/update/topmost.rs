//! [`topmost`]: the sheet of a kind that lies above the others of that kind.

/// `topmost!(deck, Overlay::Capsule(sheet) if sheet.id == id => sheet)`, if there is one.
macro_rules! topmost {
    ($deck:ident, $kind:pat $(if $is_it:expr)? => $sheet:ident) => {
        $deck.overlays.iter_mut().rev().find_map(|overlay| match overlay {
            $kind $(if $is_it)? => Some($sheet),
            _ => None,
        })
    };
}

pub(super) use topmost;
