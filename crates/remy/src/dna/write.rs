//! Writing published files.

use super::wire::{Writer, zigzag};
use super::{Corner, Kind, Node, Range, Whisker, field};

pub(super) fn write(root: &Node) -> Vec<u8> {
    node(root)
}

fn node(node_: &Node) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.bytes(field::TREE_DOMAIN, &range(&node_.range));
    match &node_.kind {
        Kind::Leaf(leaf) => writer.bytes(field::TREE_LEAF, &whisker(leaf)),
        Kind::Inner(children) => {
            for child in children {
                writer.bytes(field::TREE_CHILD, &node(child));
            }
        }
    }
    writer.raw(&node_.others);
    writer.0
}

fn whisker(whisker: &Whisker) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.varint(field::WHISKER_INCREMENT, zigzag(whisker.action.increment));
    writer.double(field::WHISKER_MULTIPLE, whisker.action.multiple);
    writer.double(field::WHISKER_INTERSEND, whisker.action.intersend_ms);
    writer.bytes(field::WHISKER_DOMAIN, &range(&whisker.range));
    writer.raw(&whisker.others);
    writer.0
}

fn range(range: &Range) -> Vec<u8> {
    let mut writer = Writer::default();
    let ends = [(field::RANGE_LOWER, &range.lower), (field::RANGE_UPPER, &range.upper)];
    for (number, written) in ends {
        if let Some(written) = written {
            writer.bytes(number, &corner(written));
        }
    }
    range.axes.iter().for_each(|&axis| writer.varint(field::RANGE_AXIS, axis));
    writer.raw(&range.others);
    writer.0
}

fn corner(corner: &Corner) -> Vec<u8> {
    let mut writer = Writer::default();
    for (axis, value) in corner.values.iter().enumerate() {
        if let Some(value) = value {
            writer.double(field::MEMORY + axis as u64, *value);
        }
    }
    writer.raw(&corner.others);
    writer.0
}
