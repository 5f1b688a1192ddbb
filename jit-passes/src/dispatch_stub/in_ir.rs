//! What a stub does with its inline cache, in IR: for processors that no assembly is written for. It goes as
//! the [assembly](super::inline_cache) does, of which the IR is another spelling; the functions have the slot
//! where what asks the runtime has it.

use std::mem::{offset_of, size_of};

use offloom_abi::jit_image::{FPCR_DEFAULT, InlineCache, InlineTable, Slot};
use offloom_ir::address::offset_by;
use offloom_ir::inkwell::AtomicOrdering::{Acquire, Monotonic};
use offloom_ir::inkwell::basic_block::BasicBlock;
use offloom_ir::inkwell::intrinsics::Intrinsic;
use offloom_ir::inkwell::types::StructType;
use offloom_ir::inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue,
};

use super::{StubBuilder, address, behind_pointers};
use crate::error::JitPassError;

/// The field of [`Slot`] that is looked at first.
const INLINE_CACHE: u32 = behind_pointers(offset_of!(Slot, inline_cache));
/// Fields of [`InlineCache`].
const CODE: u32 = behind_pointers(offset_of!(InlineCache, code));
const OTHERS: u32 = behind_pointers(offset_of!(InlineCache, others));
const CONDITIONS: u32 = behind_pointers(offset_of!(InlineCache, conditions));
/// Fields of [`offloom_abi::jit_image::InlineTable`].
const FACTOR: u32 = 0;
const KEYS: u32 = 1;
const PLACES: u32 = 2;

/// What says how a thread computes: 0 where it does as a process starts with ([`FPCR_DEFAULT`]).
const CONTROL: &str = "llvm.aarch64.get.fpcr";
const _: () = assert!(FPCR_DEFAULT == 0);

impl<'ctx> StubBuilder<'_, 'ctx> {
    /// What is under the kernel's name, where inline caches have as many parameters as the kernel.
    pub(super) fn build_first_key(
        &self,
        stub: FunctionValue<'ctx>,
        other_keys: FunctionValue<'ctx>,
        look_up: FunctionValue<'ctx>,
    ) -> Result<(), JitPassError> {
        let builder = self.builder;
        let block = |name| self.context.append_basic_block(stub, name);
        let (entry, default) = (block("entry"), block("default"));
        let (compare, hit) = (block("compare"), block("hit"));
        let (other, ask) = (block("other"), block("ask"));

        builder.position_at_end(entry);
        let slot = self.own_slot()?;
        let words = self.as_words(&stub.get_params())?;
        let cache = self.pointer_in(self.slot_type, slot, INLINE_CACHE, "")?;
        let none = builder.build_is_null(cache, "")?;
        builder.build_conditional_branch(none, ask, default)?;

        builder.position_at_end(default);
        let is_default = self.computes_as_default()?;
        builder.build_conditional_branch(is_default, compare, ask)?;

        builder.position_at_end(compare);
        let fits = self.are_equal((1..words.len()).map(|parameter| {
            let masked = self.masked(cache, parameter, words[parameter])?;
            let value = self.word_in(self.conditions(), self.conditions_of(cache)?, 2 * parameter + 1)?;
            Ok((masked, value))
        }))?;
        builder.build_conditional_branch(fits, hit, other)?;

        builder.position_at_end(hit);
        let place = builder.build_struct_gep(self.cache_type(), cache, CODE, "")?;
        let code = self.load_pointer(place, Monotonic, "code")?;
        self.become_kernel(code, &all_of(&words))?;

        builder.position_at_end(other);
        self.go_on_with(other_keys, slot, &words)?;
        builder.position_at_end(ask);
        self.go_on_with(look_up, slot, &words)
    }

    /// What is under the name of a kernel with more parameters than inline caches have.
    pub(super) fn build_no_key(
        &self,
        stub: FunctionValue<'ctx>,
        look_up: FunctionValue<'ctx>,
    ) -> Result<(), JitPassError> {
        let entry = self.context.append_basic_block(stub, "entry");
        self.builder.position_at_end(entry);
        let words = self.as_words(&stub.get_params())?;
        self.go_on_with(look_up, self.own_slot()?, &words)
    }

    /// What looks at the other keys.
    pub(super) fn build_other_keys(
        &self,
        function: FunctionValue<'ctx>,
        look_up: FunctionValue<'ctx>,
    ) -> Result<(), JitPassError> {
        let builder = self.builder;
        let block = |name| self.context.append_basic_block(function, name);
        let (entry, cached) = (block("entry"), block("cached"));
        let (hash, ask) = (block("hash"), block("ask"));
        let all = function.get_params();
        let Some((slot, words)) = all.split_first() else {
            return Ok(());
        };
        let slot = slot.into_pointer_value();
        let words = self.as_words(words)?;

        builder.position_at_end(entry);
        let cache = self.pointer_in(self.slot_type, slot, INLINE_CACHE, "")?;
        let none = builder.build_is_null(cache, "")?;
        builder.build_conditional_branch(none, ask, cached)?;

        builder.position_at_end(cached);
        let table = self.pointer_in(self.cache_type(), cache, OTHERS, "")?;
        let none = builder.build_is_null(table, "")?;
        builder.build_conditional_branch(none, ask, hash)?;

        builder.position_at_end(hash);
        let mut masked = vec![self.context.i64_type().const_zero()];
        for (parameter, word) in words.iter().enumerate().skip(1) {
            masked.push(self.masked(cache, parameter, *word)?);
        }
        let [first, second] = self.places(table, &masked)?;
        let next = block("second");
        self.build_place(function, table, first, &masked, &words, [ask, next])?;
        builder.position_at_end(next);
        self.build_place(function, table, second, &masked, &words, [ask, ask])?;

        builder.position_at_end(ask);
        self.go_on_with(look_up, slot, &words)
    }

    /// Goes on with the code of the key in a place, if it is the launch's; with the first block where the
    /// place is empty, with the second where it holds another key.
    fn build_place(
        &self,
        function: FunctionValue<'ctx>,
        table: PointerValue<'ctx>,
        place: IntValue<'ctx>,
        masked: &[IntValue<'ctx>],
        words: &[IntValue<'ctx>],
        [empty, other]: [BasicBlock<'ctx>; 2],
    ) -> Result<(), JitPassError> {
        let builder = self.builder;
        let (int, short) = (self.context.i64_type(), self.context.i16_type());
        let compare = self.context.append_basic_block(function, "compare");
        let hit = self.context.append_basic_block(function, "hit");

        let all = builder.build_struct_gep(self.table_type(), table, PLACES, "")?;
        let size_of_place = int.const_int(size_of::<u16>() as u64, false);
        let distance = builder.build_int_mul(place, size_of_place, "")?;
        let number = offset_by(builder, all, distance)?;
        let number = builder.build_load(short, number, "number")?.into_int_value();
        if let Some(load) = number.as_instruction() {
            let _ = load.set_atomic_ordering(Acquire);
            let _ = load.set_alignment(size_of::<u16>() as u32);
        }
        let none = self.is_zero(number)?;
        builder.build_conditional_branch(none, empty, compare)?;

        builder.position_at_end(compare);
        let key_type = self.record_of_words(words.len());
        let keys = self.pointer_in(self.table_type(), table, KEYS, "")?;
        let number = builder.build_int_z_extend(number, int, "")?;
        let size = size_of::<u64>() * InlineTable::words_of_key(words.len());
        let distance = builder.build_int_mul(number, int.const_int(size as u64, false), "")?;
        let key = offset_by(builder, keys, distance)?;
        let fits = self.are_equal(
            (1..masked.len())
                .map(|parameter| Ok((masked[parameter], self.word_in(key_type, key, parameter)?))),
        )?;
        builder.build_conditional_branch(fits, hit, other)?;

        builder.position_at_end(hit);
        let code = self.load_pointer(key, Monotonic, "code")?;
        self.become_kernel(code, &all_of(words))
    }

    /// The places where a key may be ([`InlineTable::hash`], [`InlineTable::places_of`]).
    fn places(
        &self,
        table: PointerValue<'ctx>,
        masked: &[IntValue<'ctx>],
    ) -> Result<[IntValue<'ctx>; 2], JitPassError> {
        let builder = self.builder;
        let (int, long) = (self.context.i64_type(), self.context.i128_type());
        let constant = |value: u64| int.const_int(value, false);
        let mut hash = int.const_zero();
        for (parameter, word) in masked.iter().enumerate().skip(1) {
            let multiplier = constant(InlineTable::multiplier(parameter));
            let product = builder.build_int_mul(*word, multiplier, "")?;
            let turn = u64::from(InlineTable::turn(parameter));
            let high = builder.build_left_shift(product, constant(turn), "")?;
            let back = (u64::from(u64::BITS) - turn) % u64::from(u64::BITS);
            let low = builder.build_right_shift(product, constant(back), false, "")?;
            hash = builder.build_xor(hash, builder.build_or(high, low, "")?, "")?;
        }
        let factor = builder.build_struct_gep(self.table_type(), table, FACTOR, "")?;
        let factor = builder.build_load(int, factor, "factor")?.into_int_value();
        let wide = |value| builder.build_int_z_extend(value, long, "");
        let product = builder.build_int_mul(wide(hash)?, wide(factor)?, "")?;
        let low = builder.build_int_truncate(product, int, "")?;
        let bits = long.const_int(u64::from(u64::BITS), false);
        let high = builder.build_right_shift(product, bits, false, "")?;
        let high = builder.build_int_truncate(high, int, "")?;
        let unused = constant(u64::from(u64::BITS - InlineTable::PLACES.ilog2()));
        let first = builder.build_right_shift(low, unused, false, "")?;
        let second = builder.build_xor(high, low, "")?;
        let second = builder.build_and(second, constant(InlineTable::PLACES as u64 - 1), "")?;
        Ok([first, second])
    }

    /// The bits of a parameter's argument that count.
    fn masked(
        &self,
        cache: PointerValue<'ctx>,
        parameter: usize,
        word: IntValue<'ctx>,
    ) -> Result<IntValue<'ctx>, JitPassError> {
        let mask = self.word_in(self.conditions(), self.conditions_of(cache)?, 2 * parameter)?;
        Ok(self.builder.build_and(word, mask, "")?)
    }

    /// Whether the thread computes as a process starts with.
    fn computes_as_default(&self) -> Result<IntValue<'ctx>, JitPassError> {
        let control = Intrinsic::find(CONTROL)
            .and_then(|control| control.get_declaration(self.module, &[]))
            .ok_or(JitPassError::NoIntrinsic(CONTROL))?;
        let control = self.builder.build_call(control, &[], "control")?;
        let control = control.try_as_basic_value().basic();
        let none = || self.context.i64_type().const_zero();
        self.is_zero(control.map_or_else(none, BasicValueEnum::into_int_value))
    }

    /// Goes on with a function that has the slot and the kernel's arguments.
    fn go_on_with(
        &self,
        function: FunctionValue<'ctx>,
        slot: PointerValue<'ctx>,
        words: &[IntValue<'ctx>],
    ) -> Result<(), JitPassError> {
        let mut arguments: Vec<BasicMetadataValueEnum<'ctx>> = vec![slot.into()];
        arguments.extend(words.iter().map(|&word| BasicMetadataValueEnum::from(word)));
        let call =
            self.builder
                .build_indirect_call(function.get_type(), address(function), &arguments, "")?;
        call.set_call_convention(function.get_call_conventions());
        self.pass_slot_apart(|location, attribute| call.add_attribute(location, attribute));
        call.set_tail_call(true);
        self.builder.build_return(None)?;
        Ok(())
    }

    /// The kernel's own slot.
    fn own_slot(&self) -> Result<PointerValue<'ctx>, JitPassError> {
        let slots = self
            .context
            .struct_type(&vec![self.slot_type.into(); self.index as usize + 1], false);
        let slot = self
            .builder
            .build_struct_gep(slots, self.slots, self.index, "slot")?;
        Ok(slot)
    }

    /// Parameters of a kernel, all of which are words.
    fn as_words(&self, parameters: &[BasicValueEnum<'ctx>]) -> Result<Vec<IntValue<'ctx>>, JitPassError> {
        let int = self.context.i64_type();
        let words = parameters.iter().map(|parameter| match parameter {
            BasicValueEnum::PointerValue(pointer) => Ok(self.builder.build_ptr_to_int(*pointer, int, "")?),
            other => Ok(other.into_int_value()),
        });
        words.collect()
    }

    /// Whether the words of each pair are the same.
    fn are_equal(
        &self,
        pairs: impl Iterator<Item = Result<(IntValue<'ctx>, IntValue<'ctx>), JitPassError>>,
    ) -> Result<IntValue<'ctx>, JitPassError> {
        let mut differences = self.context.i64_type().const_zero();
        for pair in pairs {
            let (one, other) = pair?;
            let difference = self.builder.build_xor(one, other, "")?;
            differences = self.builder.build_or(differences, difference, "")?;
        }
        self.is_zero(differences)
    }

    /// Where the conditions of a cache begin.
    fn conditions_of(&self, cache: PointerValue<'ctx>) -> Result<PointerValue<'ctx>, JitPassError> {
        Ok(self
            .builder
            .build_struct_gep(self.cache_type(), cache, CONDITIONS, "")?)
    }

    /// A word of a record of words.
    fn word_in(
        &self,
        record: StructType<'ctx>,
        place: PointerValue<'ctx>,
        index: usize,
    ) -> Result<IntValue<'ctx>, JitPassError> {
        let place = self.builder.build_struct_gep(record, place, index as u32, "")?;
        let word = self.builder.build_load(self.context.i64_type(), place, "")?;
        Ok(word.into_int_value())
    }

    /// [`InlineCache`] in IR, as far as it is looked at.
    fn cache_type(&self) -> StructType<'ctx> {
        let pointer = self.pointer().into();
        self.context
            .struct_type(&[pointer, pointer, self.conditions().into()], false)
    }

    /// Masks and values of [`offloom_abi::jit_image::Condition`], one after the other.
    fn conditions(&self) -> StructType<'ctx> {
        self.record_of_words(2 * self.body.count_params() as usize)
    }

    fn record_of_words(&self, count: usize) -> StructType<'ctx> {
        let word = self.context.i64_type().into();
        self.context.struct_type(&vec![word; count], false)
    }

    /// [`InlineTable`] in IR.
    fn table_type(&self) -> StructType<'ctx> {
        let places = self.context.i16_type().array_type(InlineTable::PLACES as u32);
        self.context.struct_type(
            &[
                self.context.i64_type().into(),
                self.pointer().into(),
                places.into(),
            ],
            false,
        )
    }
}

fn all_of<'ctx>(words: &[IntValue<'ctx>]) -> Vec<BasicValueEnum<'ctx>> {
    words.iter().map(|&word| word.into()).collect()
}
