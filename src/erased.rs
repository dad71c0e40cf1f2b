//! Traits with async functions, for values whose type is not known.

/// Declares a trait with boxed futures, which all types of a public trait have.
macro_rules! erased {
    ($erased:ident of $public:ident { $(fn $method:ident($($argument:ident: $type:ty),*) -> $output:ty;)* }) => {
        #[doc = concat!("[`", stringify!($public), "`] of any type.")]
        pub(crate) trait $erased: Send + Sync {
            $(fn $method<'a>(&'a self, $($argument: $type),*) -> futures_util::future::BoxFuture<'a, $output>;)*
        }

        impl<T: $public> $erased for T {
            $(fn $method<'a>(&'a self, $($argument: $type),*) -> futures_util::future::BoxFuture<'a, $output> {
                Box::pin($public::$method(self, $($argument),*))
            })*
        }
    };
}

pub(crate) use erased;
