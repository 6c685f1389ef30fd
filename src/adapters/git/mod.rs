//! Git from outside, through the `git` program: [`work_tree`] and [`difference`] read a work tree,
//! [`anchor`] describes its state in terms that another clone understands, [`head`] reads a commit
//! without running git.
//!
//! A project's own configuration may name programs, so its work tree is read through a throw-away
//! repository of ours ([`own`]); every git has a deadline ([`command`]).

pub mod anchor;
pub(in crate::adapters) mod command;
pub mod deadline;
pub mod difference;
pub mod facts;
pub mod found;
pub mod head;
pub(in crate::adapters) mod kept;
pub(in crate::adapters) mod mark;
pub mod now;
pub(in crate::adapters) mod own;
pub(in crate::adapters) mod place;
pub(in crate::adapters) mod untracked;
pub mod work_tree;
