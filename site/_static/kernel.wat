;; The arithmetic of small networks on many images, four numbers at once. `python -m tools.book.kernel` compiles it
;; into kernel.js, which also has the same functions in plain JavaScript. Matrices lie row by row in float32; numbers
;; of rows, columns and entries are multiples of 4, and places are in bytes.
(module
  (memory (export "memory") 1)

  ;; out[i] += scale * vector[i]
  (func (export "add") (param $out i32) (param $vector i32) (param $count i32) (param $scale f32)
    (local $end i32)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (loop $next
      (v128.store (local.get $out)
        (f32x4.add (v128.load (local.get $out))
                   (f32x4.mul (f32x4.splat (local.get $scale)) (v128.load (local.get $vector)))))
      (local.set $vector (i32.add (local.get $vector) (i32.const 16)))
      (local.set $out (i32.add (local.get $out) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $out) (local.get $end)))))

  ;; out[i] = max(out[i], 0)
  (func (export "rectify") (param $out i32) (param $count i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (loop $next
      (v128.store (local.get $out) (f32x4.max (v128.load (local.get $out)) (v128.const f32x4 0 0 0 0)))
      (local.set $out (i32.add (local.get $out) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $out) (local.get $end)))))

  ;; out (rows, columns) = x (rows, inner) · weight (inner, columns) + bias (columns), four rows and columns at a time.
  ;; A row of x is `stride` numbers long, so that a product can take its first `inner` columns alone.
  (func (export "layer") (param $x i32) (param $stride i32) (param $weight i32) (param $bias i32) (param $out i32)
                         (param $rows i32) (param $inner i32) (param $columns i32)
    (local $row i32) (local $column i32) (local $k i32) (local $w i32) (local $step i32) (local $wide i32)
    (local $x0 i32) (local $x1 i32) (local $x2 i32) (local $x3 i32) (local $at v128)
    (local $s0 v128) (local $s1 v128) (local $s2 v128) (local $s3 v128)
    (local.set $wide (i32.shl (local.get $columns) (i32.const 2)))
    (local.set $step (i32.shl (local.get $stride) (i32.const 2)))
    (loop $rows4
      (local.set $column (i32.const 0))
      (loop $columns4
        (local.set $x0 (i32.add (local.get $x) (i32.mul (local.get $row) (local.get $step))))
        (local.set $x1 (i32.add (local.get $x0) (local.get $step)))
        (local.set $x2 (i32.add (local.get $x1) (local.get $step)))
        (local.set $x3 (i32.add (local.get $x2) (local.get $step)))
        (local.set $w (i32.add (local.get $weight) (local.get $column)))
        (local.set $s0 (v128.load (i32.add (local.get $bias) (local.get $column))))
        (local.set $s1 (local.get $s0))
        (local.set $s2 (local.get $s0))
        (local.set $s3 (local.get $s0))
        (local.set $k (i32.const 0))
        (block $done
          (br_if $done (i32.eqz (local.get $inner)))
          (loop $inners
            (local.set $at (v128.load (local.get $w)))
            (local.set $s0 (f32x4.add (local.get $s0) (f32x4.mul (v128.load32_splat (local.get $x0)) (local.get $at))))
            (local.set $s1 (f32x4.add (local.get $s1) (f32x4.mul (v128.load32_splat (local.get $x1)) (local.get $at))))
            (local.set $s2 (f32x4.add (local.get $s2) (f32x4.mul (v128.load32_splat (local.get $x2)) (local.get $at))))
            (local.set $s3 (f32x4.add (local.get $s3) (f32x4.mul (v128.load32_splat (local.get $x3)) (local.get $at))))
            (local.set $x0 (i32.add (local.get $x0) (i32.const 4)))
            (local.set $x1 (i32.add (local.get $x1) (i32.const 4)))
            (local.set $x2 (i32.add (local.get $x2) (i32.const 4)))
            (local.set $x3 (i32.add (local.get $x3) (i32.const 4)))
            (local.set $w (i32.add (local.get $w) (local.get $wide)))
            (local.set $k (i32.add (local.get $k) (i32.const 1)))
            (br_if $inners (i32.lt_u (local.get $k) (local.get $inner)))))
        (local.set $x0 (i32.add (local.get $out) (i32.add (local.get $column)
                                                          (i32.mul (local.get $row) (local.get $wide)))))
        (local.set $x1 (i32.add (local.get $x0) (local.get $wide)))
        (local.set $x2 (i32.add (local.get $x1) (local.get $wide)))
        (v128.store (local.get $x0) (local.get $s0))
        (v128.store (local.get $x1) (local.get $s1))
        (v128.store (local.get $x2) (local.get $s2))
        (v128.store (i32.add (local.get $x2) (local.get $wide)) (local.get $s3))
        (local.set $column (i32.add (local.get $column) (i32.const 16)))
        (br_if $columns4 (i32.lt_u (local.get $column) (local.get $wide))))
      (local.set $row (i32.add (local.get $row) (i32.const 4)))
      (br_if $rows4 (i32.lt_u (local.get $row) (local.get $rows))))))
