//! What the screen shows and does. One binary: each of its own would be linked anew.

mod agent_pages;
mod alarms;
mod bad_lines;
mod behaviour;
mod capsules;
mod card_names;
mod clock;
mod composer;
mod contrast;
mod counts;
mod events;
mod far_entries;
mod first_tab;
mod holds;
mod identity;
mod large_entry;
mod notification;
mod overlay_foot;
mod palette;
mod recovering;
mod reviewing;
mod seconds;
mod signing;
mod single_key;
mod timeline;
mod work_rows;
