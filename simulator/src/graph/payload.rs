//! The data of a FIFO's packets, by pointer with its wrap bit.
//!
//! A pointer that is taken for a write is free: even the output register's, because at most `depth`
//! entries lie between. A store grows with the pointers first used, up to twice the depth.
//!
//! Words, by far the most frequent payload, are kept as such: finding a store's type again costs more
//! than everything else that a write does here.

use std::any::{Any, TypeId};

/// Data of one type.
pub(super) enum Payloads {
    Words(Vec<u64>),
    Typed(Box<dyn Any + Send>),
}

type Typed<T> = Vec<Option<T>>;

impl Payloads {
    pub(super) fn of<T: Send + 'static>() -> Self {
        if TypeId::of::<T>() == TypeId::of::<u64>() {
            Self::Words(Vec::new())
        } else {
            Self::Typed(Box::new(Typed::<T>::new()))
        }
    }

    #[inline]
    pub(super) fn put<T: Send + 'static>(&mut self, pointer: u32, data: T) {
        let mut data = Some(data);
        match self {
            Self::Words(words) => {
                let word = (&mut data as &mut dyn Any).downcast_mut::<Option<u64>>();
                let word = word.and_then(Option::take).expect(ONE_TYPE);
                match words.get_mut(pointer as usize) {
                    Some(slot) => *slot = word,
                    None => words.push(word),
                }
            }
            Self::Typed(store) => {
                let store = store.downcast_mut::<Typed<T>>().expect(ONE_TYPE);
                match store.get_mut(pointer as usize) {
                    Some(slot) => *slot = data,
                    None => store.push(data),
                }
            }
        }
    }

    /// Takes the data that was put at `pointer`.
    #[inline]
    pub(super) fn take<T: Send + 'static>(&mut self, pointer: u32) -> T {
        let data = match self {
            Self::Words(words) => {
                let mut data: Option<T> = None;
                *(&mut data as &mut dyn Any).downcast_mut::<Option<u64>>().expect(ONE_TYPE) =
                    Some(words[pointer as usize]);
                data
            }
            Self::Typed(store) => store.downcast_mut::<Typed<T>>().expect(ONE_TYPE)[pointer as usize].take(),
        };
        data.expect("an accepted packet's data is stored at its pointer")
    }
}

const ONE_TYPE: &str = "joined ports carry one type";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lies_at_its_pointer() {
        let mut words = Payloads::of::<u64>();
        let mut boxes = Payloads::of::<Box<str>>();
        assert!(matches!((&words, &boxes), (Payloads::Words(_), Payloads::Typed(_))));
        for (pointer, text) in ["a", "b", "c"].iter().enumerate() {
            words.put(pointer as u32, pointer as u64 + 10);
            boxes.put::<Box<str>>(pointer as u32, (*text).into());
        }
        assert_eq!((words.take::<u64>(1), &*boxes.take::<Box<str>>(1)), (11, "b"));
        words.put(1, 20u64);
        boxes.put::<Box<str>>(1, "d".into());
        let taken: Vec<u64> = [2, 1, 0].map(|pointer| words.take(pointer)).into();
        assert_eq!(taken, [12, 20, 10]);
        assert_eq!([0, 1, 2].map(|pointer| boxes.take::<Box<str>>(pointer)).concat(), "adc");
    }

    #[test]
    #[should_panic(expected = "joined ports carry one type")]
    fn another_type_is_a_breach() {
        Payloads::of::<u64>().put(0, 1u32);
    }
}
