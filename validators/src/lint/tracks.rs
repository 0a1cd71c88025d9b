//! Track descriptors: said once, with parents that exist, told apart from their siblings.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::{Found, MOST, Place, Rule};
use crate::scan::{Fields, Value};

/// `TrackDescriptor.sibling_merge_behavior` left unsaid: whoever says how siblings merge meant it.
const MERGE_UNSAID: u64 = 0;

/// What stands for bytes of any length.
type Digest = [u8; 32];

#[derive(Debug)]
struct Track {
    place: Place,
    parent: u64,
    content: Digest,
}

/// All tracks described so far.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    known: BTreeMap<u64, Track>,
    /// Tracks that the importer may fold: parent, name, and kind.
    mergeable: BTreeMap<(u64, Digest, bool), u64>,
    /// Tracks described a second time with other content, to say so once each.
    redefined: BTreeSet<u64>,
}

impl Tracks {
    pub(super) fn describe(&mut self, place: Place, descriptor: &[u8], found: &mut Found) {
        let (mut uuid, mut parent, mut merge, mut counter, mut own_kind) = (0, 0, 0, false, false);
        let mut name: &[u8] = &[];
        for field in Fields::new(descriptor).map_while(Result::ok) {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => uuid = value,
                (5, Value::Varint(value)) => parent = value,
                (15, Value::Varint(value)) => merge = value,
                (2 | 10 | 13, Value::Bytes(text)) => name = text,
                // A process or a thread is no ordinary track.
                (3 | 4, _) => own_kind = true,
                (8, _) => counter = true,
                _ => {}
            }
        }
        let content = Sha256::digest(descriptor).into();
        if let Some(first) = self.known.get(&uuid) {
            if first.content != content && self.redefined.insert(uuid) {
                let before = first.place.offset;
                found.at(Rule::TrackRedefined, place, || {
                    format!("found track {uuid} described differently from the description at byte {before}")
                });
            }
            return;
        }
        if self.known.len() >= MOST {
            found.capped = true;
            return;
        }
        if !own_kind && !name.is_empty() && merge == MERGE_UNSAID {
            let twin = self.mergeable.insert((parent, Sha256::digest(name).into(), counter), uuid);
            if let Some(twin) = twin {
                found.at(Rule::TrackSiblings, place, || {
                    let name = String::from_utf8_lossy(name);
                    format!("found track {uuid} with the name `{name}` and parent of track {twin}, expected both to say their sibling_merge_behavior, or another name")
                });
            }
        }
        self.known.insert(uuid, Track { place, parent, content });
    }

    pub(super) fn finish(&self, found: &mut Found) {
        for (uuid, track) in &self.known {
            if track.parent != 0 && !self.known.contains_key(&track.parent) {
                found.at(Rule::TrackParent, track.place, || {
                    format!("found track {uuid} with parent {}, which is described nowhere", track.parent)
                });
            }
        }
    }
}
