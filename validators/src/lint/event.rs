//! Field numbers of `TrackEvent` and its neighbours (Perfetto's `track_event.proto`, `interned_data.proto`,
//! `extension_descriptor.proto`), and what one event refers to.

use std::collections::BTreeSet;

use crate::scan::{Field, Fields, Value, varint};

pub(super) const CATEGORY_IIDS: u32 = 3;
pub(super) const DEBUG_ANNOTATIONS: u32 = 4;
pub(super) const TYPE: u32 = 9;
pub(super) const NAME_IID: u32 = 10;
pub(super) const TRACK_UUID: u32 = 11;
pub(super) const SOURCE_LOCATION_IID: u32 = 34;

pub(super) const SLICE_BEGIN: u64 = 1;
pub(super) const SLICE_END: u64 = 2;

/// Tables of `InternedData`, by field number.
pub(super) mod table {
    pub(in crate::lint) const CATEGORIES: u32 = 1;
    pub(in crate::lint) const NAMES: u32 = 2;
    pub(in crate::lint) const ANNOTATION_NAMES: u32 = 3;
    pub(in crate::lint) const SOURCE_LOCATIONS: u32 = 4;
    pub(in crate::lint) const ANNOTATION_STRINGS: u32 = 29;
    pub(in crate::lint) const ALL: [u32; 5] =
        [CATEGORIES, NAMES, ANNOTATION_NAMES, SOURCE_LOCATIONS, ANNOTATION_STRINGS];
}

/// How deep annotations may nest before the rest is left alone.
const DEEPEST: u32 = 32;

/// Calls `found` with the table and id of every interned entry that a field of an event refers to.
pub(super) fn references(field: &Field<'_>, found: &mut impl FnMut(u32, u64)) {
    match (field.number, field.value) {
        (CATEGORY_IIDS, Value::Varint(iid)) => found(table::CATEGORIES, iid),
        (CATEGORY_IIDS, Value::Bytes(packed)) => {
            let mut at = 0;
            while let Ok((iid, next)) = varint(packed, at) {
                found(table::CATEGORIES, iid);
                at = next;
            }
        }
        (NAME_IID, Value::Varint(iid)) => found(table::NAMES, iid),
        (SOURCE_LOCATION_IID, Value::Varint(iid)) => found(table::SOURCE_LOCATIONS, iid),
        (DEBUG_ANNOTATIONS, Value::Bytes(annotation)) => annotation_references(annotation, DEEPEST, found),
        _ => {}
    }
}

fn annotation_references(annotation: &[u8], depth: u32, found: &mut impl FnMut(u32, u64)) {
    const NAME_IID: u32 = 1;
    const STRING_VALUE_IID: u32 = 17;
    const DICT_ENTRIES: u32 = 11;
    const ARRAY_VALUES: u32 = 12;
    for field in Fields::new(annotation).map_while(Result::ok) {
        match (field.number, field.value) {
            (NAME_IID, Value::Varint(iid)) => found(table::ANNOTATION_NAMES, iid),
            (STRING_VALUE_IID, Value::Varint(iid)) => found(table::ANNOTATION_STRINGS, iid),
            (DICT_ENTRIES | ARRAY_VALUES, Value::Bytes(nested)) if depth > 0 => {
                annotation_references(nested, depth - 1, found);
            }
            _ => {}
        }
    }
}

/// Adds the field numbers that an `ExtensionDescriptor` declares as extensions.
pub(super) fn declared_extensions(descriptor: &[u8], declared: &mut BTreeSet<u32>) {
    const EXTENSION_SET: u32 = 1;
    const FILE: u32 = 1;
    const FILE_EXTENSION: u32 = 7;
    const MESSAGE_TYPE: u32 = 4;
    const MESSAGE_EXTENSION: u32 = 6;
    const FIELD_NUMBER: u32 = 3;
    for set in children(descriptor, EXTENSION_SET) {
        for file in children(set, FILE) {
            let messages =
                children(file, MESSAGE_TYPE).flat_map(|message| children(message, MESSAGE_EXTENSION));
            for extension in children(file, FILE_EXTENSION).chain(messages) {
                let numbers =
                    Fields::new(extension).map_while(Result::ok).filter(|field| field.number == FIELD_NUMBER);
                declared.extend(numbers.filter_map(|field| u32::try_from(field.varint()?).ok()));
            }
        }
    }
}

fn children(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    Fields::new(message)
        .map_while(Result::ok)
        .filter(move |field| field.number == number)
        .filter_map(|f| f.bytes())
}
