//! Tests of `paceline send` and `paceline recv` over loopback, a module for each subject, in one executable: each executable
//! takes 1.5 s or more to build.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/place.rs"]
mod place;
#[path = "../common/receiver.rs"]
mod receiver;
#[path = "../common/tree.rs"]
mod tree;

mod bulk;
mod progress;
mod recv_from;
mod recv_quota;
mod recv_store;
mod send_folder;
mod send_resume;
mod wire_files;
