//! placeholder
#![allow(dead_code, unused_imports)]
mod circuit;
mod clock;
