;; PUT, IDX and DEL stand for the numbers of the names put, idx and del (name_value in chain_packing.py).
(module
  (import "env" "read_action_data" (func $rad (param i32 i32) (result i32)))
  (import "env" "action_data_size" (func $ads (result i32)))
  (import "env" "db_find_i64" (func $find (param i64 i64 i64 i64) (result i32)))
  (import "env" "db_store_i64" (func $store (param i64 i64 i64 i64 i32 i32) (result i32)))
  (import "env" "db_update_i64" (func $update (param i32 i64 i32 i32)))
  (import "env" "db_remove_i64" (func $remove (param i32)))
  (import "env" "db_idx64_store" (func $idx (param i64 i64 i64 i64 i32) (result i32)))
  (memory (export "memory") 4)
  (func (export "apply") (param $self i64) (param $code i64) (param $act i64)
    (local $n i32) (local $it i32) (local $p i32) (local $len i32) (local $sh i32) (local $b i32)
    (if (i64.ne (local.get $self) (local.get $code)) (then (return)))
    (local.set $n (call $ads))
    (drop (call $rad (i32.const 1024) (local.get $n)))
    ;; layout: scope u64, table u64, pk u64, then varuint-prefixed bytes (put) | sec u64 (idx)
    (local.set $it (call $find (local.get $self) (i64.load (i32.const 1024)) (i64.load (i32.const 1032)) (i64.load (i32.const 1040))))
    (if (i64.eq (local.get $act) (i64.const PUT)) (then
      (local.set $p (i32.const 1048))
      (block $done (loop $l
        (local.set $b (i32.load8_u (local.get $p)))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (local.set $len (i32.or (local.get $len) (i32.shl (i32.and (local.get $b) (i32.const 127)) (local.get $sh))))
        (local.set $sh (i32.add (local.get $sh) (i32.const 7)))
        (br_if $l (i32.and (local.get $b) (i32.const 128)))))
      (if (i32.ge_s (local.get $it) (i32.const 0))
        (then (call $update (local.get $it) (local.get $self) (local.get $p) (local.get $len)))
        (else (drop (call $store (i64.load (i32.const 1024)) (i64.load (i32.const 1032)) (local.get $self) (i64.load (i32.const 1040)) (local.get $p) (local.get $len)))))))
    (if (i64.eq (local.get $act) (i64.const IDX)) (then
      (drop (call $idx (i64.load (i32.const 1024)) (i64.load (i32.const 1032)) (local.get $self) (i64.load (i32.const 1040)) (i32.const 1048)))))
    (if (i64.eq (local.get $act) (i64.const DEL)) (then
      (if (i32.ge_s (local.get $it) (i32.const 0)) (then (call $remove (local.get $it))))))
  )
)
