/* packaging/glibc/start.S: where a program begins that is to run on glibc before 2.34 and after it.

   Before 2.34 the program itself runs its constructors: it passes a function for that to __libc_start_main. What gcc links
   in front of a program today passes none. A newer glibc that gets the function calls it, and then does not run them. */
    .text
    .globl rtrain_start
    .hidden rtrain_start
    .type rtrain_start, @function
rtrain_start:
    .cfi_startproc
    .cfi_undefined rip
    xorl %ebp, %ebp
    movq %rdx, %r9                              /* what the dynamic linker runs at the end */
    popq %rsi                                   /* argc */
    movq %rsp, %rdx                             /* argv */
    andq $~15, %rsp
    pushq %rax
    pushq %rsp
    xorl %r8d, %r8d
    leaq rtrain_run_constructors(%rip), %rcx
    movq main@GOTPCREL(%rip), %rdi
    call *__libc_start_main@GOTPCREL(%rip)
    hlt
    .cfi_endproc
    .size rtrain_start, . - rtrain_start

/* (argc, argv, envp) for each of __init_array_start … __init_array_end. */
    .type rtrain_run_constructors, @function
rtrain_run_constructors:
    .cfi_startproc
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    pushq %r12
    .cfi_adjust_cfa_offset 8
    pushq %r13
    .cfi_adjust_cfa_offset 8
    pushq %r14
    .cfi_adjust_cfa_offset 8
    movl %edi, %r12d
    movq %rsi, %r13
    movq %rdx, %r14
    call _init
    leaq __init_array_start(%rip), %rbx
    leaq __init_array_end(%rip), %rbp
1:  cmpq %rbp, %rbx
    jae 2f
    movl %r12d, %edi
    movq %r13, %rsi
    movq %r14, %rdx
    call *(%rbx)
    addq $8, %rbx
    jmp 1b
2:  popq %r14
    .cfi_adjust_cfa_offset -8
    popq %r13
    .cfi_adjust_cfa_offset -8
    popq %r12
    .cfi_adjust_cfa_offset -8
    popq %rbp
    .cfi_adjust_cfa_offset -8
    popq %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size rtrain_run_constructors, . - rtrain_run_constructors
    .section .note.GNU-stack, "", @progbits
