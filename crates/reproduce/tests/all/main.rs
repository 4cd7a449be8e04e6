//! Tests, a module for each subject, in one executable: each executable takes 1.5 s or more to build.

mod document;
mod once;
mod plans;
mod scheme_pages;
mod tables;
