//! The entities in order of deadline: a treap in an arena, where each node knows the least virtual
//! time below it.
//!
//! Priorities are a hash of the sequence numbers, so the shape follows from the operations. It
//! shows only in the cost: logarithmic for all but the walks.

use alloc::vec::Vec;

const NIL: u32 = u32::MAX;

/// An entity and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) v: i128,
    pub(super) vd: i128,
    /// The least `v` of the subtree.
    min_v: i128,
    pub(super) weight: u64,
    pub(super) slice: u64,
    /// What a charge left below one unit of virtual time, in fine units.
    pub(super) rem: u64,
    pub(super) seq: u64,
    priority: u32,
    left: u32,
    /// The next free one where the node is free.
    right: u32,
}

impl Node {
    pub(super) fn new(weight: u64, slice: u64, v: i128, vd: i128, seq: u64) -> Self {
        Self { v, vd, min_v: v, weight, slice, rem: 0, seq, priority: 0, left: NIL, right: NIL }
    }
}

/// Whether `a` comes before `b`.
#[inline]
pub(super) fn key_before(a: &Node, b: &Node) -> bool {
    (a.vd, a.seq) < (b.vd, b.seq)
}

/// The finalizer of SplitMix64.
fn priority(seq: u64) -> u32 {
    let mut z = seq.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 32) as u32
}

#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    root: u32,
    free: u32,
    len: u32,
}

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: Vec::new(), root: NIL, free: NIL, len: 0 }
    }
}

impl Tree {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.root == NIL
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub(super) fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    #[inline]
    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    /// Forgets which places were used; there is no node.
    pub(super) fn forget(&mut self) {
        self.nodes.clear();
        self.free = NIL;
    }

    #[inline]
    pub(super) fn is_lone(&self, at: u32) -> bool {
        self.root == at && self.len == 1
    }

    /// The only node, if it is one.
    #[inline]
    pub(super) fn lone(&self) -> Option<u32> {
        (self.len == 1).then_some(self.root)
    }

    pub(super) fn set_slice(&mut self, at: u32, slice: u64) {
        self.node_mut(at).slice = slice;
    }

    /// Adds a node.
    pub(super) fn insert(&mut self, node: Node) -> u32 {
        let at = if self.free == NIL {
            let at = u32::try_from(self.nodes.len()).ok().filter(|at| *at != NIL);
            self.nodes.push(node);
            at.expect("a queue has fewer than 2^32 entities")
        } else {
            let at = self.free;
            self.free = self.node(at).right;
            *self.node_mut(at) = node;
            at
        };
        self.len += 1;
        self.link(at);
        at
    }

    /// Takes a node out.
    pub(super) fn remove(&mut self, at: u32) -> Node {
        self.unlink(at);
        self.len -= 1;
        let node = *self.node(at);
        self.node_mut(at).right = self.free;
        self.free = at;
        node
    }

    /// Gives a node virtual time and remainder; its place is the same.
    pub(super) fn advance(&mut self, at: u32, v: i128, rem: u64) {
        let node = self.node_mut(at);
        (node.v, node.rem) = (v, rem);
        self.root = self.settle(self.root, at);
    }

    /// Gives a node another deadline, perhaps another number, and the place for it.
    pub(super) fn reissue(&mut self, at: u32, vd: i128, seq: Option<u64>) {
        self.unlink(at);
        let node = self.node_mut(at);
        node.vd = vd;
        node.seq = seq.unwrap_or(node.seq);
        self.link(at);
    }

    /// Puts another node in the place of the only one.
    pub(super) fn replace_lone(&mut self, at: u32, node: Node) {
        *self.node_mut(at) = node;
        self.link_lone(at);
    }

    fn link_lone(&mut self, at: u32) {
        let node = self.node_mut(at);
        node.priority = priority(node.seq);
        (node.left, node.right, node.min_v) = (NIL, NIL, node.v);
        self.root = at;
    }

    fn link(&mut self, at: u32) {
        if self.root == NIL {
            return self.link_lone(at);
        }
        let node = self.node_mut(at);
        node.priority = priority(node.seq);
        (node.left, node.right) = (NIL, NIL);
        self.root = self.link_below(self.root, at);
    }

    fn unlink(&mut self, at: u32) {
        self.root = if self.len == 1 { NIL } else { self.unlink_below(self.root, at) };
    }

    /// Computes what a node knows of its subtree.
    fn pull(&mut self, at: u32) {
        let node = self.node(at);
        let below = |child: u32| if child == NIL { i128::MAX } else { self.node(child).min_v };
        let least = node.v.min(below(node.left)).min(below(node.right));
        self.node_mut(at).min_v = least;
    }

    /// Recomputes the way from `root` to `at`; gives `root`.
    fn settle(&mut self, root: u32, at: u32) -> u32 {
        if root != at {
            let node = self.node(root);
            let child = if key_before(self.node(at), node) { node.left } else { node.right };
            self.settle(child, at);
        }
        self.pull(root);
        root
    }

    fn link_below(&mut self, root: u32, at: u32) -> u32 {
        if root == NIL {
            self.pull(at);
            return at;
        }
        let before = key_before(self.node(at), self.node(root));
        if self.node(at).priority > self.node(root).priority {
            let (left, right) = self.split(root, at);
            let node = self.node_mut(at);
            (node.left, node.right) = (left, right);
            self.pull(at);
            return at;
        }
        if before {
            let child = self.link_below(self.node(root).left, at);
            self.node_mut(root).left = child;
        } else {
            let child = self.link_below(self.node(root).right, at);
            self.node_mut(root).right = child;
        }
        self.pull(root);
        root
    }

    /// The nodes below `root` before `at`, and those behind it.
    fn split(&mut self, root: u32, at: u32) -> (u32, u32) {
        if root == NIL {
            return (NIL, NIL);
        }
        let parts = if key_before(self.node(root), self.node(at)) {
            let (left, right) = self.split(self.node(root).right, at);
            self.node_mut(root).right = left;
            (root, right)
        } else {
            let (left, right) = self.split(self.node(root).left, at);
            self.node_mut(root).left = right;
            (left, root)
        };
        self.pull(root);
        parts
    }

    fn unlink_below(&mut self, root: u32, at: u32) -> u32 {
        if root == at {
            let node = self.node(at);
            return self.merge(node.left, node.right);
        }
        if key_before(self.node(at), self.node(root)) {
            let child = self.unlink_below(self.node(root).left, at);
            self.node_mut(root).left = child;
        } else {
            let child = self.unlink_below(self.node(root).right, at);
            self.node_mut(root).right = child;
        }
        self.pull(root);
        root
    }

    /// One tree of two, all of whose first is before all of the second.
    fn merge(&mut self, left: u32, right: u32) -> u32 {
        if left == NIL || right == NIL {
            return if left == NIL { right } else { left };
        }
        let top = if self.node(left).priority >= self.node(right).priority {
            let child = self.merge(self.node(left).right, right);
            self.node_mut(left).right = child;
            left
        } else {
            let child = self.merge(left, self.node(right).left);
            self.node_mut(right).left = child;
            right
        };
        self.pull(top);
        top
    }

    /// The first node in order whose `v` satisfies a predicate that holds for everything below, too.
    #[inline]
    pub(super) fn first_where(&self, holds: impl Fn(i128) -> bool) -> Option<u32> {
        let mut at = self.root;
        while at != NIL {
            let node = self.node(at);
            if node.left != NIL && holds(self.node(node.left).min_v) {
                at = node.left;
            } else if holds(node.v) {
                return Some(at);
            } else {
                at = node.right;
            }
        }
        None
    }

    /// The least `v` that is not `eligible`, among the nodes before `at`.
    pub(super) fn least_v_before(&self, at: u32, eligible: impl Fn(i128) -> bool) -> Option<i128> {
        let mut least = None;
        let mut root = self.root;
        while root != NIL {
            let node = self.node(root);
            if key_before(node, self.node(at)) {
                least = lesser(least, self.least_ineligible(node.left, &eligible));
                least = lesser(least, (!eligible(node.v)).then_some(node.v));
                root = node.right;
            } else {
                root = node.left;
            }
        }
        least
    }

    /// A subtree whose least `v` is not eligible has no eligible one: it is not looked through.
    fn least_ineligible(&self, root: u32, eligible: &impl Fn(i128) -> bool) -> Option<i128> {
        if root == NIL {
            return None;
        }
        let node = self.node(root);
        if !eligible(node.min_v) {
            return Some(node.min_v);
        }
        let own = (!eligible(node.v)).then_some(node.v);
        let below =
            lesser(self.least_ineligible(node.left, eligible), self.least_ineligible(node.right, eligible));
        lesser(own, below)
    }

    pub(super) fn walk(&self, visit: &mut dyn FnMut(u32)) {
        self.walk_below(self.root, visit);
    }

    fn walk_below(&self, root: u32, visit: &mut dyn FnMut(u32)) {
        if root != NIL {
            let (left, right) = (self.node(root).left, self.node(root).right);
            self.walk_below(left, visit);
            visit(root);
            self.walk_below(right, visit);
        }
    }

    /// The last node in order that is accepted.
    pub(super) fn last_where(&self, accept: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        self.last_below(self.root, accept)
    }

    fn last_below(&self, root: u32, accept: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        if root == NIL {
            return None;
        }
        let (left, right) = (self.node(root).left, self.node(root).right);
        if let Some(found) = self.last_below(right, accept) {
            return Some(found);
        }
        if accept(root) { Some(root) } else { self.last_below(left, accept) }
    }

    /// Whether keys ascend, priorities descend from the root, and every node knows its subtree.
    pub(super) fn is_consistent(&self) -> bool {
        let mut before: Option<u32> = None;
        let mut sound = true;
        let mut count = 0;
        self.walk(&mut |at| {
            let node = self.node(at);
            sound &= before.is_none_or(|before| key_before(self.node(before), node));
            let mut least = node.v;
            for child in [node.left, node.right].into_iter().filter(|child| *child != NIL) {
                sound &= self.node(child).priority <= node.priority;
                least = least.min(self.node(child).min_v);
            }
            sound &= least == node.min_v;
            count += 1;
            before = Some(at);
        });
        sound && count == self.len
    }
}

fn lesser(a: Option<i128>, b: Option<i128>) -> Option<i128> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
