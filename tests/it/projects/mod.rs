//! Which folder is a project, what is written into it, and who owns it.

mod dormant;
mod long_home;
mod owner;
mod state_elsewhere;
